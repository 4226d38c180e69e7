/* Shape rules of op rows: sizes get the names that the rules give them, each operand in turn, and a name that is there
 * twice must have one size. Products are FLOP formulas and counts of elements over those names. */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "kernels/op_rows.h"

size_t plim_word_next(const char **at) {
  *at += strspn(*at, " ");
  return strcspn(*at, " ");
}

static int is_rest(const char *word, size_t length) {
  return length == 3 && strncmp(word, "...", 3) == 0;
}

/* The number that a word begins with, 1 where it begins with a name; *name is what follows. */
static int64_t factor_of(const char *word, size_t length, const char **name) {
  int64_t factor = 0;
  size_t i = 0;
  for (; i < length && isdigit((unsigned char)word[i]) && factor < INT32_MAX; i++)
    factor = factor * 10 + (word[i] - '0');
  *name = word + i;
  return i == 0 ? 1 : factor;
}

static int find_size(const plim_op_sizes *sizes, const char *name, size_t length) {
  for (int i = 0; i < sizes->n; i++) {
    if (strncmp(sizes->name[i], name, length) == 0 && sizes->name[i][length] == 0) return i;
  }
  return -1;
}

int64_t plim_op_size(const plim_op_sizes *sizes, const char *name) {
  const size_t length = strlen(name);
  const int i = length < PLIM_SIZE_NAME_BYTES ? find_size(sizes, name, length) : -1;
  return i < 0 ? -1 : sizes->size[i];
}

static int new_size(plim_op_sizes *sizes, const char *name, size_t length, int64_t size) {
  if (sizes->n == PLIM_OP_SIZES || length >= PLIM_SIZE_NAME_BYTES) return 0;
  memcpy(sizes->name[sizes->n], name, length);
  sizes->name[sizes->n][length] = 0;
  sizes->size[sizes->n++] = size;
  return 1;
}

/* Let a word of a rule be `size`; 0 when it is another one already, or below 1. "+C" has the sum so far as its size. */
static int bind_word(const char *word, size_t length, int64_t size, plim_op_sizes *sizes) {
  const char *name;
  const int64_t factor = factor_of(word, length, &name);
  const size_t name_length = length - (size_t)(name - word);
  if (name_length == 0) return size == factor;
  if (size < 1 || size % factor != 0) return 0;
  const int i = find_size(sizes, name, name_length);
  if (i < 0) return new_size(sizes, name, name_length, size / factor);
  if (name[0] != '+') return sizes->size[i] == size / factor;
  if (sizes->size[i] > INT64_MAX - size) return 0;
  sizes->size[i] += size;
  return 1;
}

/* Let C be the sum of all "+C"; 0 when it is another size already. */
static int bind_sums(plim_op_sizes *sizes) {
  const int n = sizes->n;
  for (int i = 0; i < n; i++) {
    const char *name = sizes->name[i] + 1;
    if (sizes->name[i][0] == '+' && !bind_word(name, strlen(name), sizes->size[i], sizes)) return 0;
  }
  return 1;
}

static int bind_rest(const int64_t *dim, int32_t n, plim_op_sizes *sizes) {
  if (n < 0) return 0;
  for (int32_t i = 0; i < n; i++) {
    if (dim[i] < 1) return 0;
  }
  if (sizes->n_rest < 0) {
    sizes->n_rest = n;
    memcpy(sizes->rest, dim, (size_t)n * sizeof *dim);
    return 1;
  }
  return sizes->n_rest == n && memcmp(sizes->rest, dim, (size_t)n * sizeof *dim) == 0;
}

static int32_t count_words(const char *text) {
  int32_t n = 0;
  for (size_t length; (length = plim_word_next(&text)) > 0; text += length) n++;
  return n;
}

static int bind_shape(const char *rule, const plim_shape *shape, plim_op_sizes *sizes) {
  int32_t d = 0;
  const int32_t words = count_words(rule);
  for (size_t length; (length = plim_word_next(&rule)) > 0; rule += length) {
    if (is_rest(rule, length)) {
      const int32_t n = shape->rank - (words - 1);
      if (!bind_rest(shape->dim + d, n, sizes)) return 0;
      d += n;
    } else if (d == shape->rank || !bind_word(rule, length, shape->dim[d++], sizes)) {
      return 0;
    }
  }
  return d == shape->rank;
}

/* A sentence, where one is wanted. */
static int refuse(char *why, size_t why_bytes, const char *format, ...)
#ifdef __GNUC__
    __attribute__((format(printf, 3, 4)))
#endif
    ;
static int refuse(char *why, size_t why_bytes, const char *format, ...) {
  va_list args;
  if (!why) return 0;
  va_start(args, format);
  (void)vsnprintf(why, why_bytes, format, args);
  va_end(args);
  return 0;
}

static int refuse_shape(const plim_op_row *row, const plim_op_operand *operand, const plim_shape *shape, char *why,
                        size_t why_bytes) {
  char sizes[PLIM_MAX_RANK * 21 + 1] = "";
  for (int32_t d = 0, used = 0; d < shape->rank && d < PLIM_MAX_RANK; d++) {
    used += snprintf(sizes + used, sizeof sizes - (size_t)used, d ? " %lld" : "%lld", (long long)shape->dim[d]);
  }
  return refuse(why, why_bytes,
                "%s of a %s has the sizes [%s], which do not follow its rule [%s] and the other operands",
                operand->name, row->name, sizes, operand->shape);
}

static int fit_list(const plim_op_row *row, const plim_op_operand *list, const char *what, const plim_shape *shape,
                    int32_t count, plim_op_sizes *sizes, char *why, size_t why_bytes) {
  const int32_t most = plim_op_operands_most(list), least = plim_op_operands_least(list);
  if (count < least && most == INT32_MAX) {
    return refuse(why, why_bytes, "a %s has at least %d %s, not %d", row->name, (int)least, what, (int)count);
  }
  if (count < least || count > most) {
    return refuse(why, why_bytes, "a %s has %d to %d %s, not %d", row->name, (int)least, (int)most, what, (int)count);
  }
  for (int32_t i = 0; i < count; i++) {
    const plim_op_operand *operand = plim_op_operand_at(list, i);
    if (plim_shape_is_strided(&shape[i]) && !operand->strided) {
      return refuse(why, why_bytes, "%s of a %s has strides, which its kernels do not take", operand->name, row->name);
    }
    if (operand->shape && !bind_shape(operand->shape, &shape[i], sizes)) {
      return refuse_shape(row, operand, &shape[i], why, why_bytes);
    }
  }
  return 1;
}

int plim_op_fits(const plim_op_desc *op, plim_op_sizes *sizes, char *why, size_t why_bytes) {
  const plim_op_row *row = plim_op_kind_row(op->kind);
  plim_op_sizes own, *to = sizes ? sizes : &own;
  plim_dtype type;
  memset(to, 0, sizeof *to);
  to->n_rest = -1;
  if (!row) return refuse(why, why_bytes, "%d is no kind of op", (int)op->kind);
  if (op->kind == PLIM_OP_CUSTOM) return 1;
  if (!fit_list(row, row->in, "inputs", plim_op_inputs(op), op->n_in, to, why, why_bytes)) return 0;
  if (!bind_sums(to)) return refuse(why, why_bytes, "sizes of the operands of a %s do not add up", row->name);
  if (!fit_list(row, row->out, "outputs", plim_op_outputs(op), op->n_out, to, why, why_bytes)) return 0;
  if (!fit_list(row, row->upd, "updates", plim_op_updates(op), op->n_upd, to, why, why_bytes)) return 0;
  if (!bind_sums(to)) return refuse(why, why_bytes, "sizes of the operands of a %s do not add up", row->name);
  if (!plim_op_type(op, &type)) return refuse(why, why_bytes, "no %s takes operands of these types", row->name);
  if (row->check && !row->check(op)) {
    return refuse(why, why_bytes, "the attributes of this %s do not suit its operands", row->name);
  }
  return 1;
}

static plim_dtype type_of(const plim_op_operand *operand, plim_dtype own) {
  static const char letters[] = "fiubh";
  static const plim_dtype types[] = {PLIM_F32, PLIM_I32, PLIM_U8, PLIM_BITS, PLIM_BF16};
  const char *at = strchr(letters, operand->type);
  return at ? types[at - letters] : own;
}

/* The shape that a rule gives with sizes that are known; 0 when one is not. */
static int infer_shape(const plim_op_operand *operand, const plim_op_sizes *sizes, plim_shape *shape) {
  const char *rule = operand->shape;
  int64_t dim[PLIM_MAX_RANK];
  int32_t rank = 0;
  if (!rule) return 0;
  for (size_t length; (length = plim_word_next(&rule)) > 0; rule += length) {
    char word[2 * PLIM_SIZE_NAME_BYTES];
    if (is_rest(rule, length)) {
      if (sizes->n_rest < 0 || rank + sizes->n_rest > PLIM_MAX_RANK) return 0;
      memcpy(dim + rank, sizes->rest, (size_t)sizes->n_rest * sizeof *dim);
      rank += sizes->n_rest;
      continue;
    }
    if (rank == PLIM_MAX_RANK || length >= sizeof word) return 0;
    memcpy(word, rule, length);
    word[length] = 0;
    dim[rank] = plim_op_product(sizes, word);
    if (dim[rank++] < 1) return 0;
  }
  *shape = plim_shape_make(shape->dtype, PLIM_FLAT, rank, dim);
  return rank > 0;
}

int plim_op_infer(plim_op_desc *op, int32_t n_out, char *why, size_t why_bytes) {
  const plim_op_row *row = plim_op_kind_row(op->kind);
  const plim_shape *first = plim_op_inputs(op);
  plim_op_sizes sizes = {.n_rest = -1};
  plim_dtype own;
  op->n_out = 0;
  if (!row) return refuse(why, why_bytes, "%d is no kind of op", (int)op->kind);
  if (n_out > PLIM_OP_MAX_OUT) {
    return refuse(why, why_bytes, "a %s with %d outputs has more than an op may have, %d", row->name, (int)n_out,
                  (int)PLIM_OP_MAX_OUT);
  }
  if (!fit_list(row, row->in, "inputs", plim_op_inputs(op), op->n_in, &sizes, why, why_bytes)) return 0;
  if (!bind_sums(&sizes)) return refuse(why, why_bytes, "sizes of the operands of a %s do not add up", row->name);
  if (!plim_op_type(op, &own)) return refuse(why, why_bytes, "no %s takes operands of these types", row->name);
  for (int32_t i = 0; i < n_out; i++) {
    const plim_op_operand *operand = plim_op_operand_at(row->out, i);
    plim_shape shape = {.dtype = operand ? type_of(operand, own) : PLIM_F32};
    if (!operand || !infer_shape(operand, &sizes, &shape)) {
      return refuse(why, why_bytes, "the sizes of output %d of a %s do not follow from its inputs", (int)i, row->name);
    }
    if (shape.rank == first->rank) shape.layout = first->layout;
    if (plim_shape_elements(&shape) < 0) shape.layout = PLIM_FLAT;
    op->out[i] = shape;
  }
  op->n_out = n_out;
  return plim_op_fits(op, NULL, why, why_bytes);
}

int plim_op_has_gradient(const plim_op_row *row, const char *name) {
  const size_t wanted = strlen(name);
  for (int g = 0; g < PLIM_ROW_GRADIENTS && row->gradient[g].of; g++) {
    const char *of = row->gradient[g].of;
    for (size_t length; (length = plim_word_next(&of)) > 0; of += length) {
      if (length == wanted && strncmp(of, name, length) == 0) return 1;
    }
  }
  return 0;
}

static int64_t multiply_all(int64_t product, const int64_t *size, int32_t n) {
  for (int32_t i = 0; i < n; i++) {
    if (size[i] <= 0) return 0;
    product = product > INT64_MAX / size[i] ? INT64_MAX : product * size[i];
  }
  return product;
}

int64_t plim_op_product(const plim_op_sizes *sizes, const char *product) {
  int64_t result = 1;
  for (size_t length; (length = plim_word_next(&product)) > 0; product += length) {
    const char *name;
    int64_t factor = factor_of(product, length, &name);
    const size_t name_length = length - (size_t)(name - product);
    const int i = name_length > 0 ? find_size(sizes, name, name_length) : -1;
    if (is_rest(product, length) && sizes->n_rest >= 0) {
      result = multiply_all(result, sizes->rest, sizes->n_rest);
      continue;
    }
    if (name_length > 0 && i < 0) return -1;
    if (i >= 0 && sizes->size[i] <= 0) return 0;
    if (i >= 0) factor = factor > INT64_MAX / sizes->size[i] ? INT64_MAX : factor * sizes->size[i];
    result = factor > 0 && result > INT64_MAX / factor ? INT64_MAX : result * factor;
  }
  return result;
}

/* ---- what may be a row ---- */

static int is_name(const char *name) {
  const size_t length = name ? strlen(name) : 0;
  if (length < 1 || length > 63) return 0;
  return strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_.") == length;
}

static const char *rule_fault(const char *rule) {
  int rests = 0;
  for (size_t length; (length = plim_word_next(&rule)) > 0; rule += length) {
    const char *name;
    if (is_rest(rule, length)) {
      if (++rests > 1) return "a shape rule has \"...\" twice";
      continue;
    }
    if (factor_of(rule, length, &name) < 1) return "a shape rule has a size of zero";
    const size_t name_length = length - (size_t)(name - rule);
    if (name_length >= PLIM_SIZE_NAME_BYTES) return "a shape rule has a name of more than seven letters";
    const size_t plus = name_length > 1 && length == name_length && name[0] == '+';
    for (size_t i = plus; i < name_length; i++) {
      if (!isalpha((unsigned char)name[i]))
        return "a shape rule has a word that is neither a number, a name nor \"...\"";
    }
  }
  return NULL;
}

static const char *list_fault(const plim_op_operand *list) {
  const int most = PLIM_ROW_OPERANDS;
  int optional = 0;
  for (int i = 0; i < most && list[i].name; i++) {
    if (!list[i].type || !strchr("thfiub*", list[i].type)) return "an operand has a type that is none of thfiub*";
    if (optional && !list[i].optional) return "an operand that is needed follows an optional one";
    if (list[i].many && i + 1 < most && list[i + 1].name) return "an operand follows one that may be there many times";
    if (list[i].contents == PLIM_CONTENTS_INDICES && !list[i].below) return "indices have no size that they are below";
    optional = list[i].optional != 0;
    const char *fault = list[i].shape ? rule_fault(list[i].shape) : NULL;
    if (fault) return fault;
  }
  return NULL;
}

static const char *attrs_fault(const plim_op_row *row) {
  for (const char *word = row->attrs ? row->attrs : ""; *word;) {
    const size_t length = plim_word_next(&word);
    const plim_attr *a = plim_builtin_attrs;
    while (length > 0 && a->name && (strlen(a->name) != length || strncmp(a->name, word, length) != 0)) a++;
    if (!a->name) return "attrs has a name that is no built-in attribute";
    word += length;
  }
  for (int i = 0; i < PLIM_ROW_OWN && row->own[i].name; i++) {
    const plim_attr *a = &row->own[i];
    const size_t bytes =
        (size_t)(a->count < 1 ? 5 : a->count) * (a->type == PLIM_ATTR_FLOAT ? sizeof(float) : sizeof(int64_t));
    const size_t from = a->type == PLIM_ATTR_FLOAT ? offsetof(plim_attrs, own_float) : offsetof(plim_attrs, own_int);
    const size_t room =
        a->type == PLIM_ATTR_FLOAT ? sizeof(((plim_attrs *)0)->own_float) : sizeof(((plim_attrs *)0)->own_int);
    if (a->type == PLIM_ATTR_INT32) return "an own attribute is neither an int64 nor a float";
    if (!is_name(a->name)) return "an own attribute's name is not of a-z, 0-9, _ and .";
    if (a->count > 4 || a->at < from || a->at + bytes > from + room)
      return "an own attribute lies outside own_int, own_float";
  }
  return NULL;
}

static const char *operands_fault(const plim_op_row *row) {
  const char *fault = list_fault(row->in);
  if (!fault) fault = list_fault(row->out);
  if (!fault) fault = list_fault(row->upd);
  if (fault) return fault;
  for (int i = 0; i < PLIM_ROW_OPERANDS; i++) {
    if ((row->out[i].name && row->out[i].strided) || (row->upd[i].name && row->upd[i].strided))
      return "only inputs may have strides";
  }
  const int effect = row->cls == PLIM_OP_EFFECT;
  if (effect && (row->out[0].name || !row->upd[0].name)) return "an effect op has updates and no outputs";
  if (!effect && (!row->out[0].name || row->upd[0].name)) return "an op that is no effect has outputs and no updates";
  return NULL;
}

/* Whether a word of `text` occurs in what follows it there, or in a gradient after number g. */
static int is_named_again(const plim_op_row *row, int g, const char *text) {
  for (const char *word = text; *word;) {
    const size_t length = plim_word_next(&word);
    const char *after = word + length;
    for (int i = g; length > 0 && i < PLIM_ROW_GRADIENTS && row->gradient[i].of; i++) {
      for (const char *other = i == g ? after : row->gradient[i].of; *other;) {
        const size_t other_length = plim_word_next(&other);
        if (other_length == length && strncmp(other, word, length) == 0) return 1;
        other += other_length;
      }
    }
    word = after;
  }
  return 0;
}

static const char *gradients_fault(const plim_op_row *row) {
  for (int g = 0; g < PLIM_ROW_GRADIENTS && row->gradient[g].of; g++) {
    if (is_named_again(row, g, row->gradient[g].of)) return "an operand has two gradients";
  }
  return NULL;
}

const char *plim_op_row_fault(const plim_op_row *row) {
  if (row->struct_bytes != sizeof *row) return "struct_bytes is not sizeof(plim_op_row)";
  if (!is_name(row->name)) return "the name is not 1 to 63 of a-z, 0-9, _ and .";
  if (!plim_op_class_name(row->cls)) return "the class is none";
  if (!row->doc || !row->doc[0]) return "there is no line that says what the op computes";
  const char *fault = operands_fault(row);
  if (!fault) fault = attrs_fault(row);
  if (!fault) fault = gradients_fault(row);
  for (int i = 0; i < row->n_pairs && !fault; i++) {
    if (i == PLIM_ROW_PAIRS || !plim_op_operand_at(row->in, row->pair[i].in) ||
        !plim_op_operand_at(row->out, row->pair[i].out)) {
      fault = "a pair is not of its operands";
    }
  }
  return fault;
}
