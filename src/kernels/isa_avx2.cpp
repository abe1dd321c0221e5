#define TB_ISA avx2
#include "loops.hpp"
