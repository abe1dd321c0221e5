#define TB_ISA baseline
#define TB_WIDTH 2
#include "simd/loops.hpp"
