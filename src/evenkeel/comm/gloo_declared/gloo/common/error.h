// SPDX-License-Identifier: Apache-2.0
// ProcessGroupGloo.hpp includes it, and uses nothing of it (gloo/context.h says more).
#pragma once
