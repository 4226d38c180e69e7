/* From options to something that can train. */
#include "tools/plimsoll/session.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime/base/file.h"
#include "runtime/base/name.h"
#include "runtime/base/size.h"
#include "runtime/data/sampler.h"
#include "runtime/device/device_check.h"
#include "runtime/device/threads.h"
#include "runtime/graph/sibling.h"
#include "tools/plimsoll/cmd_plan.h"
#include "tools/plimsoll/commands.h"
#include "tools/plimsoll/figures.h"
#include "tools/plimsoll/page_options.h"
#include "tools/plimsoll/process.h"

enum { MOST_NOISE_BYTES = 64 << 20 };

static plim_status check_name(session *s, const char *what, const char *name, plim_name_at *at) {
  char advice[PLIM_NAME_ADVICE_BYTES];
  if (plim_name_find(at, name) >= 0) return PLIM_OK;
  return plim_fail(s->ctx, PLIM_EUSAGE, "no %s is called \"%s\"%s", what, name, plim_name_advice(at, name, advice));
}

/* Every option whose values have names. */
static plim_status check_values(session *s) {
  for (int i = 0; option_values_at(i); i++) {
    const option_values_row *values = option_values_at(i);
    if (!(values->commands & s->o->command) || !values->what) continue;
    const option_row *r = option_row_find(s->o->command, values->option);
    const char *name = NULL;
    memcpy(&name, (const char *)s->o + r->at, sizeof name);
    if (name) PLIM_TRY(check_name(s, values->what, name, values->at));
  }
  return PLIM_OK;
}

/* Sizes that cannot be read, before anything is begun. */
static plim_status check_sizes(session *s) {
  const options *o = s->o;
  char sentence[PLIM_ERROR_BYTES];
  plim_size size;
  for (int i = 0; i < o->n_given; i++) {
    const option_row *r = option_row_find(o->command, o->given[i]);
    const char *text = NULL;
    if (r->kind != TEXT || strcmp(r->arg, "SIZE") != 0) continue;
    if (o->graph && o->command == COMMAND_PLAN && plan_spaces_wanted(o)) continue; /* read once spaces are known */
    memcpy(&text, (const char *)o + r->at, sizeof text);
    if (!text || plim_size_parse(s->ctx, text, &size) == PLIM_OK) continue; /* NULL: of other spaces alone */
    (void)snprintf(sentence, sizeof sentence, "%s", plim_context_error(s->ctx));
    const int spaces = strcmp(r->name, "memory") == 0 && o->memory_given && strchr(o->memory_given, '=');
    return plim_fail(s->ctx, PLIM_EUSAGE, "--%s%s%s: %s", r->name, spaces ? " " : "", spaces ? o->memory_given : "",
                     sentence);
  }
  return PLIM_OK;
}

static plim_status check_device(session *s) {
  const char *name = s->o->device;
  if (plim_name_find(option_values_find(COMMAND_TRAIN, "device")->at, name) >= 0) return PLIM_OK;
  if (strncmp(name, "cuda", 4) == 0 && strspn(name + 4, ":0123456789") == strlen(name + 4)) return PLIM_OK;
  return plim_fail(s->ctx, PLIM_EUSAGE, "no device is called '%s'; there are cpu, cuda:0, cuda:1, ..., sim and check",
                   name);
}

static plim_status check_data(session *s) {
  const option_values_row *values = option_values_find(s->o->command, "data");
  if (!values || plim_dataset_text(s->o->data, NULL) != PLIM_TEXT_NONE) return PLIM_OK;
  return check_name(s, "data set", s->o->data, values->at);
}

static plim_status check_names(session *s) {
  PLIM_TRY(check_values(s));
  PLIM_TRY(check_data(s));
  PLIM_TRY(check_device(s));
  return check_sizes(s);
}

static int is_one_file(const char *a, const char *b) {
  struct stat x, y;
  if (strcmp(a, b) == 0) return 1;
  return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* Work of hours must not end with a folder that is not there. */
static plim_status check_outputs(const session *s) {
  const char *const path[] = {s->o->output, s->o->svg, s->o->save, s->o->trace, s->o->page_file};
  const char *const name[] = {"output", "svg", "save", "trace", "page-file"};
  enum { PATHS = sizeof path / sizeof *path };
  for (int i = 0; i < PATHS; i++) {
    if (path[i]) PLIM_TRY(plim_file_try(s->ctx, path[i]));
    for (int k = 0; k < i && path[i] && !plim_file_is_direct(path[i]); k++) {
      if (!path[k] || !is_one_file(path[k], path[i])) continue;
      return plim_fail(s->ctx, PLIM_EUSAGE, "--%s and --%s are one file, %s: each needs a name of its own", name[k],
                       name[i], path[i]);
    }
  }
  return PLIM_OK;
}

/* When the process began, as far as it knows: it has worked since then and waited little. */
static int64_t process_begin(void) {
  return plim_now_ns() - process_cpu_ns();
}

void session_reserve(session *s) {
  enum { READING_PARTS = 2, LIMIT_PARTS = 10 };
  int64_t reading_ns = (plim_now_ns() - s->begin_ns) / READING_PARTS;
  int64_t most_ns = (int64_t)(s->o->time_limit * 1e9) / LIMIT_PARTS;
  s->reserve_ns = reading_ns < most_ns ? reading_ns : most_ns;
}

int64_t session_left_ns(const session *s) {
  int64_t left_ns = (int64_t)(s->o->time_limit * 1e9) - (plim_now_ns() - s->begin_ns) - s->reserve_ns;
  return left_ns > 1 ? left_ns : 1;
}

plim_status session_open(session *s, const options *o) {
  *s = (session){.o = o, .begin_ns = process_begin(), .source = plim_program_source_default()};
  s->makes_page_file = paging_makes_file(o);
  progress_begin(&s->bar, !o->no_progress && !o->quiet);
  plim_status status = plim_context_new(heap_resize, NULL, &s->ctx);
  if (status != PLIM_OK) return status;
  plim_context_set_progress(s->ctx, progress_report, &s->bar);
  interrupt_watch(s->ctx);
  PLIM_TRY(check_names(s));
  PLIM_TRY(option_rules_check(s->ctx, o));
  return check_outputs(s);
}

/* CPU devices beside the first one, of --memory or --plan. A plan that cannot be read is refused where it is used; a
 * stream is read there alone. */
static int32_t other_devices(const session *s) {
  plim_plan *plan = NULL;
  int32_t devices = 0;
  if (s->o->n_devices > 0) return s->o->n_devices;
  if (s->o->command == COMMAND_PLAN || !s->o->plan || plim_file_is_direct(s->o->plan)) return 0;
  if (plim_plan_load(s->ctx, s->o->plan, &plan) != PLIM_OK) return 0;
  devices = plim_plan_other_devices(plan);
  plim_plan_free(plan);
  return devices;
}

/* The threads of one of several devices. */
static plim_status share_threads(const session *s, int32_t devices, int32_t *threads) {
  const int32_t all = plim_threads_share(*threads, 1);
  *threads = plim_threads_share(*threads, devices);
  if (*threads > 0) return PLIM_OK;
  return plim_fail(s->ctx, PLIM_EUSAGE, "%d devices need a thread each, and there %s %d: give --threads %d or more",
                   (int)devices, all == 1 ? "is" : "are", (int)all, (int)devices);
}

static plim_status open_device(session *s) {
  plim_device_options wanted = plim_device_options_default();
  wanted.threads = (int32_t)s->o->threads;
  const int32_t devices = other_devices(s) + 1;
  if (devices > 1) PLIM_TRY(share_threads(s, devices, &wanted.threads));
  wanted.eager = s->o->no_graph;
  if (strcmp(s->o->device, "check") != 0) return plim_device_open(s->ctx, s->o->device, &wanted, &s->device);
  PLIM_TRY(plim_device_open(s->ctx, "cpu", &wanted, &s->checked));
  return plim_device_check_open(s->checked, &s->device);
}

plim_status session_device(session *s) {
  PLIM_TRY(open_device(s));
  if (!s->o->no_cache) PLIM_TRY(plim_profile_remember(s->device, NULL));
  return PLIM_OK;
}

plim_status session_vram(session *s) {
  plim_size size;
  if (!s->o->vram) return PLIM_OK;
  PLIM_TRY(plim_size_parse(s->ctx, s->o->vram, &size));
  s->vram_bytes = plim_size_bytes(&size, 0);
  if (s->vram_bytes > 0) return PLIM_OK;
  return plim_fail(s->ctx, PLIM_EUSAGE, "--vram %s does not fit in 63 bits", s->o->vram);
}

/* Height, width and channels of --image. */
static plim_status read_image(const session *s, int32_t image[3]) {
  const char *text = s->o->image;
  int used = 0;
  if (sscanf(text, "%4dx%4dx%1d%n", &image[0], &image[1], &image[2], &used) == 3 && text[used] == 0 && image[0] > 0 &&
      image[1] > 0 && image[2] > 0 && image[2] <= 4) {
    return PLIM_OK;
  }
  return plim_fail(s->ctx, PLIM_EUSAGE,
                   "--image %s is not HEIGHTxWIDTHxCHANNELS with sides of 1 to 9999 and 1 to 4 channels, as in 32x32x3",
                   text);
}

/* The size of a gpt, and the words of its text. */
static void set_tokens(session *s) {
  const options *o = s->o;
  plim_net_options *net = &s->source.net;
  net->context = (int32_t)o->context;
  if (plim_dataset_text(o->data, NULL) == PLIM_TEXT_TOKENS) net->classes = (int32_t)o->vocab;
  net->layers = (int32_t)o->layers;
  net->units = (int32_t)o->model_width;
  net->heads = (int32_t)o->heads;
}

plim_optimizer session_optimizer(const session *s) {
  const options *o = s->o;
  if (!o->optimizer) return plim_optimizer_default(o->model);
  return (plim_optimizer)plim_name_find(plim_optimizer_name, o->optimizer);
}

/* A beta that the optimizer does not have, and betas at which Adam divides by zero. */
static plim_status check_betas(const session *s) {
  const options *o = s->o;
  const plim_optimizer_row *optimizer = plim_optimizer_at((int32_t)session_optimizer(s));
  const plim_rate_schedule schedule = session_schedule(s, 1);
  if (optimizer->beta2 == 0) {
    if (!options_given(o, "beta2")) return PLIM_OK;
    return plim_fail(s->ctx, PLIM_EUSAGE, "--beta2 is of adam and adamw, and does not apply to --optimizer %s",
                     optimizer->name);
  }
  if (schedule.momentum < 1 && schedule.beta2 < 1) return PLIM_OK;
  return plim_fail(s->ctx, PLIM_EUSAGE, "--%s 1: both betas of %s are below 1, since it divides by 1 - beta",
                   schedule.momentum < 1 ? "beta2" : "momentum", optimizer->name);
}

/* The net of the options, without its layout. */
static plim_status set_net(session *s) {
  const options *o = s->o;
  plim_net_options *net = &s->source.net;
  int32_t image[3];
  char sentence[PLIM_ERROR_BYTES];
  if (o->image) PLIM_TRY(read_image(s, image));
  plim_status status = plim_preparation_net_options(s->ctx, o->model, o->data, o->image ? image : NULL, net);
  if (status != PLIM_OK && o->image) {
    (void)snprintf(sentence, sizeof sentence, "%s", plim_context_error(s->ctx));
    return plim_fail(s->ctx, status, "--image %s: %s", o->image, sentence);
  }
  PLIM_TRY(status);
  if (net->context > 0) set_tokens(s);
  PLIM_TRY(check_betas(s));
  net->optimizer = plim_optimizer_with(session_optimizer(s), session_schedule(s, 1).momentum);
  net->states = o->states && strcmp(o->states, "bf16") == 0 ? PLIM_BF16 : PLIM_F32;
  net->clip = o->clip > 0;
  net->batch = (int32_t)o->batch;
  net->accumulate = (int32_t)o->accumulate;
  net->precision = (plim_precision)plim_precision_find(o->math);
  return PLIM_OK;
}

/* A batch that the data set cannot fill is refused before ops are measured. */
static plim_status check_batch(const session *s) {
  plim_sampler_options wanted = plim_sampler_options_default();
  plim_sampler *sampler = NULL;
  wanted.batch = (int32_t)s->o->batch;
  PLIM_TRY(plim_sampler_new(s->dataset, &wanted, &sampler));
  plim_sampler_free(sampler);
  return PLIM_OK;
}

static plim_status load_data(session *s) {
  plim_dataset_options wanted = plim_dataset_options_default();
  const plim_net_options *net = &s->source.net;
  PLIM_TRY(set_net(s));
  wanted.dir = s->o->data_dir;
  wanted.height = net->height;
  wanted.width = net->width;
  wanted.channels = net->channels;
  wanted.seed = (uint64_t)s->o->seed;
  wanted.context = net->context;
  wanted.words = net->classes;
  if (net->context > 0) return plim_dataset_load(s->ctx, s->o->data, &wanted, &s->dataset);
  /* of noise a few large images are as good as many */
  int64_t most = MOST_NOISE_BYTES / ((int64_t)net->height * net->width * net->channels);
  if (most < s->o->batch) most = s->o->batch;
  if (most < wanted.train_count) wanted.train_count = (int32_t)most;
  if (most < wanted.test_count) wanted.test_count = (int32_t)most;
  return plim_dataset_load(s->ctx, s->o->data, &wanted, &s->dataset);
}

plim_status session_data(session *s) {
  plim_status status = load_data(s);
  if (status == PLIM_ENOFILE && s->source.net.context == 0) {
    char sentence[PLIM_ERROR_BYTES];
    (void)snprintf(sentence, sizeof sentence, "%s", plim_context_error(s->ctx));
    return plim_fail(s->ctx, status, "%s: --data-dir DIR", sentence);
  }
  return status == PLIM_OK ? check_batch(s) : status;
}

static plim_status make_net(void *user, const plim_net_options *net, plim_net **out) {
  const session *s = user;
  return plim_model_make(s->ctx, s->o->model, net, out);
}

static plim_status set_source(session *s) {
  const options *o = s->o;
  s->profiler = plim_profiler_options_default();
  s->profiler.repeats = (int32_t)o->repeats;
  s->profiler.begin_ns = plim_now_ns();
  s->profiler.limit_ns = (int64_t)(o->profile_time * 1e9);
  s->profiler.report = &s->profiling;
  s->profiler.busy_devices = other_devices(s);
  if (o->no_cache) s->profiler.cache_dir = "";
  s->source.make = make_net;
  s->source.user = s;
  s->source.profiler = o->model_costs ? NULL : &s->profiler;
  s->source.vram_bytes = s->vram_bytes;
  s->source.pages = o->page_memory || o->n_devices > 0;
  return o->memory ? plim_size_parse(s->ctx, o->memory, &s->source.budget) : PLIM_OK;
}

int32_t session_last_batch(const session *s) {
  if (!s->dataset || !s->o->last_batch || strcmp(s->o->last_batch, "online") != 0) return 0;
  return s->dataset->train.count % (int32_t)s->o->batch;
}

static plim_status add_last(session *s, plim_program *program) {
  int32_t images = session_last_batch(s);
  return images > 0 ? plim_program_make_last(program, s->device, &s->source, images) : PLIM_OK;
}

/* The layout of --layout; auto: the fastest of those that the device's kernels are made for. A network without images
 * in between has no use for more than one. */
static plim_status choose_layout(session *s) {
  int given = plim_layout_find(s->o->layout);
  plim_layout one = given >= 0 ? (plim_layout)given : s->device->layout[0];
  int chooses = given < 0 && strcmp(s->o->model, "mlp") != 0 && s->source.net.context == 0;
  return plim_program_choose_layout(s->device, &s->source, 1, chooses ? NULL : &one, &s->program);
}

plim_status session_program(session *s) {
  if (!s->dataset) PLIM_TRY(set_net(s));
  PLIM_TRY(set_source(s));
  PLIM_TRY(choose_layout(s));
  return add_last(s, s->program);
}

/* ---- numerics and budget ---- */

int32_t session_planner_threads(const options *o) {
  if (o->threads > 0) return (int32_t)o->threads;
  return o->time_limit > 0 && o->iterations == 0 ? plim_threads_default() : 1;
}

static plim_status choose_spaces(session *s) {
  PLIM_TRY(paging_choose(s));
  return energy_choose(s);
}

plim_status session_planning(session *s) {
  const options *o = s->o;
  s->planning = plim_plan_options_default();
  s->planning.planner = o->planner;
  s->planning.seed = (uint64_t)o->seed;
  s->planning.iterations = o->iterations;
  s->planning.copies = (int32_t)o->copies;
  s->planning.threads = session_planner_threads(o);
  s->planning.time_limit_ns = (int64_t)(o->time_limit * 1e9);
  s->planning.front_folder = o->no_cache ? NULL : "";
  if (o->order) s->planning.order = strcmp(o->order, "fixed") == 0 ? PLIM_ORDER_FIXED : PLIM_ORDER_FREE;
  PLIM_TRY(plim_preparation_begin(s->device, s->program, &s->prep));
  PLIM_TRY(numerics_choose(s));
  if (!o->memory) return choose_spaces(s);
  plim_size size;
  PLIM_TRY(plim_size_parse(s->ctx, o->memory, &size));
  s->planning.budget_bytes = plim_size_bytes(&size, s->prep.keep_all->arena_bytes);
  if (s->planning.budget_bytes >= 0) return choose_spaces(s);
  return plim_fail(s->ctx, PLIM_EUSAGE, "--memory %s does not fit in 63 bits", o->memory);
}

static int32_t trial_steps(const session *s) {
  enum { USUAL = 8 };
  const options *o = s->o;
  if (o->command != COMMAND_TRAIN || !session_computes(s)) return 0;
  if (energy_wanted(o)) return 0; /* the faster of two plans is not asked for */
  return o->trial >= 0 ? (int32_t)o->trial : o->model_costs ? 0 : USUAL;
}

/* Budgets by step are planned before the run begins, so that one that does not fit is refused before anything runs, as
 * --memory is, and no step has to wait for a search. */
plim_status session_plan(session *s) {
  const options *o = s->o;
  plim_preparation_options wanted = plim_preparation_options_default();
  plim_trainer_options training;
  PLIM_TRY(limits_parse(s));
  wanted.planning = s->planning;
  wanted.plan = o->plan;
  wanted.policy = o->online ? plim_policy_find(o->online) : NULL;
  wanted.thrash = o->thrash;
  wanted.replay = !o->online && strcmp(o->addresses, "arena") == 0;
  wanted.budget_change = s->limits.row;
  wanted.n_budget_changes = limits_reached(s);
  wanted.trial_steps = trial_steps(s);
  wanted.vram_bytes = s->vram_bytes;
  if (s->dataset) {
    training = session_trainer_options(s, session_total_steps(s));
    wanted.dataset = s->dataset;
    wanted.training = &training;
  }
  plim_status status = plim_preparation_run(&s->prep, &wanted);
  progress_clear(&s->bar);
  s->planning = s->prep.planning;
  if (status == PLIM_ENOFIT) return refusal_explain_preparation(s);
  if (status == PLIM_OK) status = paging_check(s);
  if (status == PLIM_OK) numerics_tell(s, s->program->plan[PLIM_PROGRAM_TRAIN]);
  return status;
}

plim_status session_save_plan(const session *s) {
  return plim_sibling_save(s->program->graph[PLIM_PROGRAM_TRAIN], s->program->plan[PLIM_PROGRAM_TRAIN], s->o->output);
}

int session_computes(const session *s) {
  return s->device->api->computes;
}

/* ---- the end ---- */

static void print_failure(const session *s, plim_status status) {
  char sentence[PLIM_ERROR_BYTES];
  standard_sentence(s->ctx ? plim_context_error(s->ctx) : "out of memory", sizeof sentence, sentence);
  json_t *object = s->o->json && !s->answered ? failure_object(status, sentence) : NULL;
  if (object && status == PLIM_ENOFIT && s->refusal.budget_bytes > 0) refusal_json(&s->refusal, object);
  failure_print(sentence, object);
}

int session_close(session *s, plim_status status) {
  progress_clear(&s->bar);
  if (status != PLIM_OK) print_failure(s, status);
  int interrupted = status == PLIM_OK && s->ctx && plim_context_cancelled(s->ctx); /* the best so far was kept */
  interrupt_watch(NULL);
  heap_arena_close(&s->heap);
  if (s->ctx) {
    numerics_close(s);
    plim_preparation_end(&s->prep);
    plim_program_free(s->program);
    plim_dataset_free(s->dataset);
    plim_device_close(s->device);
    plim_device_close(s->checked);
    plim_context_free(s->ctx);
  }
  paging_remove_file(s);
  return interrupted || status == PLIM_ECANCEL ? interrupt_exit_status() : plim_status_exit(status);
}

int session_run(const options *o, plim_status (*work)(session *s)) {
  session s;
  plim_status status = session_open(&s, o);
  if (status == PLIM_OK) status = work(&s);
  return session_close(&s, status);
}
