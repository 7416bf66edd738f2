// fork_server.h: a fork server: a parser that has read its precompiled headers before it is asked
// for the file, and forks for each parse of it.
//
// Most of a parse with precompiled headers is the loading of those of their declarations that the
// file asks for: Clang loads with one specialization of std::is_convertible all that the headers
// made. What is loaded stays so in a process, and a fork of it begins with it.
#pragma once

#include <clang/Frontend/CompilerInstance.h>

#include <string>

namespace dtypecheck::analyzer {

// The name, of no file on the disk, by which a compiler is set up for `file`: what it knows of the
// size of the file itself would be out of date when it is asked.
std::string placeholder_of(const std::string& file);

// To be called where the headers are read and the file is not. Waits for a byte on standard input,
// and returns each time in a new process, which is to parse `file` and to call report_loaded(); the
// server loads what that reports, too, for the next. The first parse is for that alone: its
// standard output goes nowhere. The server ends where the input does, or a parse fails.
void serve_parses(clang::CompilerInstance& compiler, const std::string& file);
void report_loaded();

}  // namespace dtypecheck::analyzer
