#define TB_ISA avx512
#include "loops.hpp"
