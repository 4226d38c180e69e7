/* plimsoll-solver: runs one solver library for a program that uses libplimsoll-plan, which starts it. */
#include "tools/solver/solver_process.h"

int main(void) {
  return plim_solver_process(plim_back_ends);
}
