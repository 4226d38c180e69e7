/* Logarithm and exponential that are equal on every machine: a fixed order of additions, multiplications and divisions
 * of IEEE doubles. The last bits of libm's results differ between libraries and CPUs. Pure functions, safe on any
 * thread, some 20 operations each. The loss has functions of its own (kernels/single_source/loss.inc). For kernels
 * include nothing of the runtime, and the bits of trained weights depend on the order of the loss's operations. */
#ifndef PLIM_RUNTIME_BASE_REAL_H
#define PLIM_RUNTIME_BASE_REAL_H

#ifdef __cplusplus
extern "C" {
#endif

/* ln x for finite x of at least 2^-1022, to 4e-16 of max(1, |ln x|). */
double plim_real_log(double x);

/* e^x for |x| <= 700, to 4e-16 of it; 0 below, infinity above. */
double plim_real_exp(double x);

#ifdef __cplusplus
}
#endif
#endif
