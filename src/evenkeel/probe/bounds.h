// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "evenkeel/probe/single_head.h"

namespace evenkeel::probe {

/// Upper bounds of the Frobenius norm of a Jacobian dS/dW.
struct Bound {
  double corrected = 0;
  double printed = 0;  // as in Theorem 2; for the value path of Pre + QK the bound of Pre
};

/// The bounds for the four matrices of a head. |.| is the spectral norm, |.|_F the Frobenius norm
/// and sig the smallest singular value:
///
///   dS/d.     W_O           W_V                W_Q (W_K: exchange Q and K)
///   Pre       s d |W_V|     s sqrt(d) |W_O|_F  (s d)^1.5 |W_K||W_V||W_O| / (2 sqrt(dk))
///   Pre + QK  s d |W_V|     s sqrt(d) |W_O|_F  s dk sqrt(s d) |W_V||W_O| / (2 sig_Q)
///   QKV       s sqrt(d dk)  s dk |W_O| / sig_V s dk sqrt(s dk) |W_O| / (2 sig_Q)
///
/// The printed bounds use |X_N|_F = sqrt(s). Rows with a root mean square of 1 have the L2 norm
/// sqrt(d), so |X_N|_F = sqrt(s d). Where a corrected bound differs, the printed bound is too
/// small. Both require dk >= d, so that |x W| >= sig |x|.
///
/// \source arXiv:2503.04598, Theorem 2; the corrections are derived in docs/probes.md
PerWeight<Bound> bounds(Placement placement, const Head& head);

}  // namespace evenkeel::probe
