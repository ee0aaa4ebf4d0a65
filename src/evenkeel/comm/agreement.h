// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "evenkeel/comm/group.h"
#include "evenkeel/comm/roll_call.h"

/// Checks that all ranks make together after the group is formed.
namespace evenkeel::comm {

/// Checks what is known only later, such as the digests of texts.
/// \throws Error (differs, exit code 78): "rank 3 (a2, process 4711) has KEY = A, but rank 0 has B"
void check_equal(Group& group, const Facts& facts);

/// Checks that all ranks see the same folder: rank 0 writes a random word, all read it.
/// \param folder  the same text on all ranks; rank 0 can write into it
/// \throws Error (usage, exit code 64), with the first rank that does not see the word; (io, 74) if
///         rank 0 cannot write it
void check_shared_folder(Group& group, const std::filesystem::path& folder);

}  // namespace evenkeel::comm
