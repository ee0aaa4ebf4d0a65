// SPDX-License-Identifier: Apache-2.0
#pragma once

// Takes precedence over the compiler's header of this name (kernels_emulated_test): then what is
// written for AVX-512 with bfloat16 and for AMX runs on any processor, slowly.
#include <emmintrin.h>

#include "kernels/emulated/bf16.h"
#include "kernels/emulated/float32.h"
#include "kernels/emulated/float64.h"
#include "kernels/emulated/integers.h"
#include "kernels/emulated/tiles.h"
