// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "npy_output.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <utility>
#include <vector>

#include "error.hpp"

namespace scan_tool {
namespace {

/// Temporary files that a signal handler must remove. Modified with signals blocked.
std::array<const char*, 2> unfinished{};

constexpr std::array stopping{SIGHUP, SIGINT, SIGTERM, SIGQUIT};

extern "C" void remove_unfinished(int signal) {
  for (const char* const path : unfinished) {
    if (path != nullptr) ::unlink(path);
  }
  ::raise(signal);  // SA_RESETHAND: with the default action
}

/// Blocks signals while `unfinished` changes.
class SignalBlock {
 public:
  SignalBlock() {
    sigset_t all;
    sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, &m_before);
  }
  ~SignalBlock() { ::pthread_sigmask(SIG_SETMASK, &m_before, nullptr); }
  SignalBlock(const SignalBlock&) = delete;
  SignalBlock& operator=(const SignalBlock&) = delete;

 private:
  sigset_t m_before{};
};

void handle_signals() {
  // Exceeding a file size limit should be an error like any other.
  std::signal(SIGXFSZ, SIG_IGN);
  for (const int signal : stopping) {
    struct sigaction before {};
    ::sigaction(signal, nullptr, &before);
    if (before.sa_handler != SIG_DFL) continue;
    struct sigaction action {};
    action.sa_handler = remove_unfinished;
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    ::sigaction(signal, &action, nullptr);
  }
}

/// The path after resolving all symbolic links, whether or not it exists.
std::filesystem::path followed(std::filesystem::path path) {
  constexpr int most_links = 40;
  std::error_code error;
  for (int i = 0; i < most_links && std::filesystem::is_symlink(path, error); ++i) {
    const std::filesystem::path target = std::filesystem::read_symlink(path, error);
    if (error) break;
    path = path.parent_path() / target;
  }
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  const std::filesystem::path real = std::filesystem::canonical(folder, error);
  return error ? path : real / path.filename();
}

/// The permissions of a new file.
mode_t default_mode() {
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return 0666 & ~mask;
}

}  // namespace

NpyOutput::NpyOutput(std::string path) : m_path(std::move(path)) {
  if (is_standard_output()) {
    if (::isatty(STDOUT_FILENO) != 0) {
      refuse(m_path, "a terminal", "a file or a pipe as standard output");
    }
    make_temporary(temporary_folder(), 0600);
    return;
  }
  const std::filesystem::path target = followed(m_path);
  m_target = target.string();
  struct stat status {};
  const bool exists = ::stat(m_target.c_str(), &status) == 0;
  if (!exists && errno != ENOENT) unwritable();
  if (exists && !S_ISREG(status.st_mode)) {
    refuse(m_path, S_ISDIR(status.st_mode) ? "a folder" : "something that is not a regular file",
           "the name of a file to write");
  }
  if (!target.has_filename()) {
    refuse(m_path, "a name without a file", "the name of a file to write");
  }
  if (exists && ::access(m_target.c_str(), W_OK) != 0) unwritable();

  make_temporary(target.parent_path().string(), exists ? status.st_mode & 07777 : default_mode());
}

void NpyOutput::make_temporary(const std::string& folder, mode_t mode) {
  handle_signals();
  m_temporary = (std::filesystem::path(folder) / ".kokkos-scan.XXXXXX").string();
  const SignalBlock block;
  m_file = ::mkostemp(m_temporary.data(), O_CLOEXEC);
  if (m_file < 0) {
    m_temporary.clear();
    unwritable();
  }
  *std::find(unfinished.begin(), unfinished.end(), nullptr) = m_temporary.c_str();
  ::fchmod(m_file, mode);
}

NpyOutput::NpyOutput(std::string path, const std::string& temporary) : m_path(std::move(path)) {
  handle_signals();
  m_file = ::open(temporary.c_str(), O_WRONLY | O_CLOEXEC);
  if (m_file < 0) unwritable();
}

NpyOutput::~NpyOutput() { discard(); }

bool NpyOutput::replaces(const std::string& file) const {
  if (file == standard_stream || is_standard_output()) return false;
  std::error_code error;
  return std::filesystem::equivalent(file, m_target, error);
}

void NpyOutput::unwritable() const {
  refuse(m_path, "no way to write there (" + system_reason() + ")", "a file that can be written");
}

void NpyOutput::discard() {
  const SignalBlock block;
  if (m_file >= 0) ::close(m_file);
  m_file = -1;
  if (m_temporary.empty()) return;
  ::unlink(m_temporary.c_str());
  std::replace(unfinished.begin(), unfinished.end(), m_temporary.c_str(),
               static_cast<const char*>(nullptr));
  m_temporary.clear();
}

void NpyOutput::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(m_file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) unwritable();
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void NpyOutput::write_at(std::int64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(m_file, bytes.data(), bytes.size(), offset);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) unwritable();
    bytes = bytes.subspan(static_cast<std::size_t>(written));
    offset += written;
  }
}

void NpyOutput::write_header(const NpyHeader& header) {
  const std::string text = format_npy_header(header);
  write(std::as_bytes(std::span(text)));
}

void NpyOutput::finish() {
  // Network file systems and quotas may report a full disk only here.
  const int file = std::exchange(m_file, -1);
  if (::close(file) != 0) unwritable();
}

void NpyOutput::copy_to_standard_output() {
  const int from = ::open(m_temporary.c_str(), O_RDONLY | O_CLOEXEC);
  if (from < 0) unwritable();
  discard();  // the open file stays readable, and nothing is left behind if writing fails
  std::vector<std::byte> bytes(1 << 20);
  ssize_t count = 0;
  while ((count = ::read(from, bytes.data(), bytes.size())) != 0) {
    if (count < 0 && errno != EINTR) break;
    for (ssize_t done = 0; done < count;) {
      const ssize_t written =
          ::write(STDOUT_FILENO, bytes.data() + done, static_cast<std::size_t>(count - done));
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) {
        ::close(from);
        unwritable();
      }
      done += written;
    }
  }
  ::close(from);
  if (count < 0) unwritable();
}

void NpyOutput::commit() {
  if (m_temporary.empty()) return;  // another process removes it
  if (is_standard_output()) {
    copy_to_standard_output();
    return;
  }
  const SignalBlock block;
  if (std::rename(m_temporary.c_str(), m_target.c_str()) != 0) unwritable();
  std::replace(unfinished.begin(), unfinished.end(), m_temporary.c_str(),
               static_cast<const char*>(nullptr));
  m_temporary.clear();
}

}  // namespace scan_tool
