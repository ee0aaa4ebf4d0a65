// SPDX-License-Identifier: Apache-2.0
#pragma once

// The floor `study` as the command line sees it.
#include "evenkeel/study/catalogue.h"     // IWYU pragma: export
#include "evenkeel/study/definition.h"    // IWYU pragma: export
#include "evenkeel/study/outcome.h"       // IWYU pragma: export
#include "evenkeel/study/study_runner.h"  // IWYU pragma: export
