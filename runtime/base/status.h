/* Status codes: 0, or one of the negative numbers below that never change. Functions here are safe from any thread. */
#ifndef PLIM_RUNTIME_BASE_STATUS_H
#define PLIM_RUNTIME_BASE_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

/* X(id, code, exit status of the command line, name) */
#define PLIM_STATUSES(X)                                                                                \
  X(OK, 0, 0, "ok")                                                                                     \
  X(EUSAGE, -1, 2, "usage")                /* an argument or option that is not allowed */              \
  X(EDATA, -2, 3, "bad data")              /* a file or document that is wrong */                       \
  X(EIO, -3, 5, "I/O")                     /* the system could not read or write */                     \
  X(ENOMEM, -4, 5, "out of memory")        /* the memory hook returned NULL */                          \
  X(ENOFIT, -5, 4, "does not fit")         /* no plan or packing in the budget, no arena in a GPU */    \
  X(EPLAN, -6, 1, "bad plan")              /* plan_check found a fault */                               \
  X(EDIFF, -7, 1, "difference")            /* bits, bytes or counts that should be equal are not */     \
  X(EDEVICE, -8, 5, "device")              /* a device or kernel failed */                              \
  X(ENOTFINITE, -9, 5, "not finite")       /* a loss that is NaN or infinite */                         \
  X(ECANCEL, -10, 130, "cancelled")        /* the caller asked to stop */                               \
  X(EOVERFLOW, -11, 3, "overflow")         /* a size does not fit in 63 bits */                         \
  X(EUNSUPPORTED, -12, 5, "not supported") /* a valid request that this build or device cannot serve */ \
  X(ENOFILE, -13, 3, "no such file")       /* a file or data set that is not there */

#define PLIM_X(id, code, exit_status, name) PLIM_##id = (code),
typedef enum plim_status { PLIM_STATUSES(PLIM_X) PLIM_STATUS_END = 1 } plim_status;
#undef PLIM_X

/* Short name ("does not fit"); "unknown status" for a number that is none. */
const char *plim_status_name(plim_status status);

/* Exit status of the command line for a status: 0, 1, 2, 3, 4, 5 or 130. */
int plim_status_exit(plim_status status);

#if defined(__GNUC__)
#define PLIM_MUST_USE __attribute__((warn_unused_result))
#define PLIM_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define PLIM_MUST_USE
#define PLIM_PRINTF(fmt, args)
#endif

#ifdef __cplusplus
}
#endif
#endif
