//! csprof on programs whose answers are known in advance.

/// The program of Figure 1 in the paper that this profiler follows.
mod figure1;
