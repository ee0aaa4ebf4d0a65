// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/bench/child.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>

#include "evenkeel/base/error.h"

extern char** environ;  // POSIX

namespace evenkeel::bench {

namespace {

/// What keeps a child from its answers' pipe must not keep the other end open in it.
std::array<int, 2> pipe_of() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    throw Error(Exit::io, text("no pipe to another process: ", std::strerror(errno)));
  }
  return ends;
}

/// The last line that says something; of a Python program that is its error.
std::string last_line(const std::filesystem::path& log) {
  std::ifstream in(log);
  std::string last;
  for (std::string line; std::getline(in, line);) {
    if (line.find_first_not_of(" \t\r") != std::string::npos) last = line;
  }
  return last;
}

}  // namespace

Child::Child(const std::vector<std::string>& words, const std::filesystem::path& log)
    : name_(words.front()), log_(log) {
  const auto questions = pipe_of();
  const auto answers = pipe_of();
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, questions[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, answers[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, log.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0600);
  std::vector<char*> argv;
  for (const auto& word : words) argv.push_back(const_cast<char*>(word.c_str()));  // NOLINT: C
  argv.push_back(nullptr);
  const int error = posix_spawnp(&process_, argv.front(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(questions[0]);
  close(answers[1]);
  questions_ = fdopen(questions[1], "w");
  answers_ = fdopen(answers[0], "r");
  if (error != 0) {
    process_ = -1;
    std::fclose(questions_);
    std::fclose(answers_);
    throw Error(Exit::io, text(name_, ": cannot be started: ", std::strerror(error)));
  }
  std::signal(SIGPIPE, SIG_IGN);  // a child that ended is an error of fflush() then
}

Child::~Child() {
  std::fclose(questions_);  // the end of its questions is its sign to end
  std::fclose(answers_);
  int status = 0;
  waitpid(process_, &status, 0);
}

void Child::fail(const std::string& what) const {
  const auto said = last_line(log_);
  throw Error(Exit::io, text(name_, ": ", what, said.empty() ? "" : "; its last words: ", said));
}

nlohmann::json Child::answer() {
  char* line = nullptr;
  std::size_t size = 0;
  const auto length = getline(&line, &size, answers_);
  const std::unique_ptr<char, decltype(&std::free)> owner(line, &std::free);
  if (length <= 0) fail("ended before its time");
  auto json = nlohmann::json::parse(line, line + length, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) fail("gave an answer that is no JSON object");
  return json;
}

nlohmann::json Child::ask(const nlohmann::json& question) {
  std::fprintf(questions_, "%s\n", question.dump().c_str());
  if (std::fflush(questions_) != 0) fail("ended before its time");
  return answer();
}

}  // namespace evenkeel::bench
