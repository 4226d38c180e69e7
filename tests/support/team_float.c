#include "tests/support/team.h"
#define TEAM_TABLE team_bodies_float
#include "tests/support/team_bodies.inc"
