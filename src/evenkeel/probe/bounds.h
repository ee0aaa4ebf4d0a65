// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "evenkeel/probe/single_head.h"

namespace evenkeel::probe {

/// Upper bounds of the Frobenius norm of one Jacobian dS/dW.
struct Bound {
  double corrected = 0;
  double printed = 0;  // as Theorem 2 states it; the value path of Pre + QK takes that of Pre
};

/// The bounds of all four matrices of a head. With spectral norms |.|, the Frobenius norm |.|_F,
/// and sig the smallest singular value:
///
///   dS/d.     W_O           W_V                W_Q (of W_K: Q and K change places)
///   Pre       s d |W_V|     s sqrt(d) |W_O|_F  (s d)^1.5 |W_K||W_V||W_O| / (2 sqrt(dk))
///   Pre + QK  s d |W_V|     s sqrt(d) |W_O|_F  s dk sqrt(s d) |W_V||W_O| / (2 sig_Q)
///   QKV       s sqrt(d dk)  s dk |W_O| / sig_V s dk sqrt(s dk) |W_O| / (2 sig_Q)
///
/// The printed bounds take |X_N|_F = sqrt(s). Rows over their root mean square have the length
/// sqrt(d), so |X_N|_F = sqrt(s d): the printed bounds are too small where the corrected ones
/// differ. Both require dk >= d, so that |x W| >= sig |x|.
///
/// \source arXiv:2503.04598, Theorem 2; the corrections are derived in docs/probes.md
PerWeight<Bound> bounds(Placement placement, const Head& head);

}  // namespace evenkeel::probe
