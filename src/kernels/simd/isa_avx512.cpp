#define TB_ISA avx512
#define TB_WIDTH 8
#include "simd/loops.hpp"
