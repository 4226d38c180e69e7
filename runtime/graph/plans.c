/* Writes and reads program documents: plan documents in a list, each with a name. */
#include "runtime/graph/plans.h"

#include <string.h>

#include "runtime/graph/plan_text.h"
#include "runtime/graph/plans_text.h"
#include "runtime/graph/printable.h"

void plim_plans_free(plim_plans *plans) {
  if (!plans) return;
  for (int32_t i = 0; i < plans->n; i++) plim_plan_free(plans->plan[i]);
  plim_release(plans->ctx, plans, 1, sizeof *plans);
}

const plim_plan *plim_plans_find(const plim_plans *plans, const char *name) {
  for (int32_t i = 0; i < plans->n; i++) {
    if (strcmp(plans->name[i], name) == 0) return plans->plan[i];
  }
  return NULL;
}

/* ---- writing ---- */

static plim_status check_name(plim_context *ctx, const char *name, const char *const *before, int32_t n) {
  PLIM_TRY(plim_printable_name(ctx, "plan", name));
  if (strlen(name) >= PLIM_PLANS_NAME_BYTES) {
    return plim_fail(ctx, PLIM_EDATA, "plan '%s': the name has more than %d characters", name,
                     PLIM_PLANS_NAME_BYTES - 1);
  }
  for (int32_t i = 0; i < n; i++) {
    if (strcmp(before[i], name) == 0) return plim_fail(ctx, PLIM_EDATA, "two plans are called '%s'", name);
  }
  return PLIM_OK;
}

static plim_status check_count(plim_context *ctx, int32_t n) {
  if (n >= 1 && n <= PLIM_PLANS_MAX) return PLIM_OK;
  return plim_fail(ctx, PLIM_EDATA, "a program of %d plans, 1 to %d are allowed", n, PLIM_PLANS_MAX);
}

void plim_plans_write(plim_text *text, int32_t n, const char *const *name, const plim_plan *const *plan) {
  plim_document_write_head(text, "program");
  plim_text_add(text, "  \"plans\": [\n");
  for (int32_t i = 0; i < n; i++) {
    plim_text_add(text, i > 0 ? ",\n{\"name\": " : "{\"name\": ");
    plim_text_quote(text, name[i]);
    plim_text_add(text, ", \"plan\":\n");
    plim_plan_write(text, plan[i]);
    plim_text_add(text, "}");
  }
  plim_text_add(text, "\n  ]\n}\n");
}

plim_status plim_plans_save(plim_context *ctx, int32_t n, const char *const *name, const plim_plan *const *plan,
                            const char *path) {
  plim_text text = {ctx, NULL, 0, 0, PLIM_OK};
  PLIM_TRY(check_count(ctx, n));
  for (int32_t i = 0; i < n; i++) PLIM_TRY(check_name(ctx, name[i], name, i));
  plim_plans_write(&text, n, name, plan);
  return plim_document_save(&text, path);
}

/* ---- reading ---- */

static void read_plans(plim_json_at *root, plim_plans *plans) {
  int32_t n = 0;
  const char *name[PLIM_PLANS_MAX];
  plim_json_at list = plim_json_list(root, "plans", &n);
  if (root->doc->status == PLIM_OK) plim_json_take(&list, check_count(root->doc->ctx, n));
  for (int32_t i = 0; i < n && root->doc->status == PLIM_OK; i++) {
    plim_json_at at = plim_json_item(&list, i);
    name[i] = plim_json_text(&at, "name");
    if (root->doc->status == PLIM_OK) plim_json_take(&at, check_name(root->doc->ctx, name[i], name, i));
    plim_json_copy(&at, "name", plans->name[i], sizeof plans->name[i]);
    plim_json_at plan = plim_json_object(&at, "plan");
    plim_plan_read(&plan, &plans->plan[i]);
    plim_json_end(&at);
    if (plans->plan[i]) plans->n = i + 1;
  }
}

plim_status plim_plans_parse(plim_context *ctx, const char *file, const char *text, int64_t bytes, plim_plans **out) {
  plim_json doc;
  plim_plans *plans = NULL;
  plim_status status = plim_document_open(ctx, file, text, bytes, &doc);
  if (status == PLIM_OK) status = plim_allocate(ctx, 1, sizeof *plans, &plans);
  if (status == PLIM_OK) {
    plans->ctx = ctx;
    plim_json_at root = plim_json_root(&doc);
    plim_document_read_head(&root, "program");
    read_plans(&root, plans);
    plim_json_end(&root);
    status = doc.status;
  }
  if (status == PLIM_OK) {
    *out = plans;
    plans = NULL;
  }
  plim_plans_free(plans);
  plim_json_close(&doc);
  return status;
}

static plim_status parse(plim_context *ctx, const char *file, const char *text, int64_t bytes, void *out) {
  return plim_plans_parse(ctx, file, text, bytes, out);
}

plim_status plim_plans_load(plim_context *ctx, const char *path, plim_plans **out) {
  return plim_document_load(ctx, path, parse, out);
}
