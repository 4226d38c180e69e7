#include "tests/support/team.h"
#define K_BF16
#define TEAM_TABLE team_bodies_bf16
#include "tests/support/team_bodies.inc"
