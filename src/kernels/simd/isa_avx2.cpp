#define TB_ISA avx2
#define TB_WIDTH 4
#include "simd/loops.hpp"
