// exit_status.h: what every command returns, beside `trace`, which returns its program's own
// status.
#pragma once

namespace dtypecheck::cli {

inline constexpr int kClean = 0;
inline constexpr int kFound = 1;  // findings at or above the fail level
inline constexpr int kCouldNotDo =
    2;  // the tool could not do its work; one line on stderr says why
inline constexpr int kSignalBase =
    128;  // a traced program that was killed: this plus the signal, as in a shell

}  // namespace dtypecheck::cli
