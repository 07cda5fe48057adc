// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "npy_input.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <utility>
#include <vector>

#include "error.hpp"

namespace scan_tool {
namespace {

[[noreturn]] void unreadable(const std::string& path) {
  refuse(path, "no readable file (" + system_reason() + ")", "a .npy file");
}

/// Standard input as a file descriptor: itself if it is a file, else an unnamed temporary copy.
int open_standard_input(const std::string& path) {
  if (::isatty(STDIN_FILENO) != 0) refuse(path, "a terminal", "a .npy file in standard input");
  struct stat status {};
  if (::fstat(STDIN_FILENO, &status) == 0 && S_ISREG(status.st_mode) &&
      ::lseek(STDIN_FILENO, 0, SEEK_CUR) == 0) {
    return ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
  }
  std::string name = temporary_folder() + "/kokkos-scan.XXXXXX";
  const int file = ::mkostemp(name.data(), O_CLOEXEC);
  if (file < 0) return file;
  ::unlink(name.c_str());
  std::vector<std::byte> bytes(1 << 20);
  while (true) {
    const ssize_t count = ::read(STDIN_FILENO, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) unreadable(path);
    if (count == 0) return file;
    for (ssize_t done = 0; done < count;) {
      const ssize_t written =
          ::write(file, bytes.data() + done, static_cast<std::size_t>(count - done));
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) unreadable(path);
      done += written;
    }
  }
}

}  // namespace

std::string temporary_folder() {
  const char* const named = std::getenv("TMPDIR");
  return named == nullptr || *named == '\0' ? "/tmp" : named;
}

MappedFile::MappedFile(const std::string& path) {
  // Non-blocking, so that a pipe without a writer is refused instead of waited for.
  const int file = path == standard_stream
                       ? open_standard_input(path)
                       : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) unreadable(path);
  struct stat status {};
  const bool known = ::fstat(file, &status) == 0;
  const auto size = static_cast<std::size_t>(status.st_size);
  void* memory = nullptr;
  const bool regular = known && S_ISREG(status.st_mode);
  if (regular && size > 0) memory = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
  const int error = errno;
  if (!known || memory == MAP_FAILED || !regular) ::close(file);
  errno = error;
  if (!known || memory == MAP_FAILED) unreadable(path);
  if (!regular) {
    refuse(path, S_ISDIR(status.st_mode) ? "a folder" : "a file that is not a regular one",
           "a .npy file");
  }
  m_file = file;
  m_bytes = {static_cast<const std::byte*>(memory), size};
}

MappedFile::~MappedFile() {
  if (!m_bytes.empty()) ::munmap(const_cast<std::byte*>(m_bytes.data()), m_bytes.size());
  if (m_file >= 0) ::close(m_file);
}

bool MappedFile::read(std::int64_t offset, std::span<std::byte> bytes) const {
  while (!bytes.empty()) {
    const ssize_t count = ::pread(m_file, bytes.data(), bytes.size(), offset);
    if (count < 0 && errno == EINTR) continue;
    if (count == 0) errno = EIO;  // the file was truncated
    if (count <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(count));
    offset += count;
  }
  return true;
}

void MappedFile::expect(std::int64_t offset, std::int64_t count) const {
  static_cast<void>(::posix_fadvise(m_file, offset, count, POSIX_FADV_WILLNEED));
}

NpyInput::NpyInput(std::string path) : m_path(std::move(path)), m_file(m_path) {
  ParsedHeader parsed = parse_npy_header(m_path, m_file.bytes());
  m_header = std::move(parsed.header);
  const std::span<const std::byte> rest = m_file.bytes().subspan(parsed.size);
  m_count = element_count(m_path, m_header.shape);
  const auto size = static_cast<std::size_t>(m_count) * size_of(m_header.dtype);
  if (rest.size() < size) {
    refuse(m_path, std::to_string(rest.size()) + " bytes of data",
           std::to_string(size) + " for shape " + to_string(m_header.shape) + " of " +
               std::string(info(m_header.dtype).name));
  }
  m_data = rest.first(size);
  m_begin = static_cast<std::int64_t>(parsed.size);
}

void NpyInput::read(std::int64_t first, std::span<std::byte> bytes) const {
  const auto size = info(m_header.dtype).size;
  if (!m_file.read(m_begin + first * size, bytes)) unreadable(m_path);
  if (m_header.byte_order == ByteOrder::swapped) swap_bytes(m_header.dtype, bytes);
}

void NpyInput::expect(std::int64_t first, std::int64_t count) const {
  first = std::max<std::int64_t>(first, 0);
  count = std::min(count, m_count - first);
  const auto size = info(m_header.dtype).size;
  if (count > 0) m_file.expect(m_begin + first * size, count * size);
}

}  // namespace scan_tool
