#define TB_ISA baseline
#include "loops.hpp"
