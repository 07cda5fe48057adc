// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "npy_input.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "error.hpp"

namespace scan_tool {
namespace {

[[noreturn]] void unreadable(const std::string& path) {
  refuse(path, "no readable file (" + system_reason() + ")", "a .npy file");
}

}  // namespace

MappedFile::MappedFile(const std::string& path) {
  // Not blocking, so that a pipe without a writer is refused and not waited for.
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) unreadable(path);
  struct stat status {};
  const bool known = ::fstat(file, &status) == 0;
  const auto size = static_cast<std::size_t>(status.st_size);
  void* memory = nullptr;
  const bool regular = known && S_ISREG(status.st_mode);
  if (regular && size > 0) memory = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
  const int error = errno;
  ::close(file);
  errno = error;
  if (!known || memory == MAP_FAILED) unreadable(path);
  if (!regular) {
    refuse(path, S_ISDIR(status.st_mode) ? "a folder" : "a file that is not a regular one",
           "a .npy file");
  }
  m_bytes = {static_cast<const std::byte*>(memory), size};
}

MappedFile::~MappedFile() {
  if (!m_bytes.empty()) ::munmap(const_cast<std::byte*>(m_bytes.data()), m_bytes.size());
}

NpyInput::NpyInput(std::string path) : m_path(std::move(path)), m_file(m_path) {
  ParsedHeader parsed = parse_npy_header(m_path, m_file.bytes());
  m_header = std::move(parsed.header);
  const std::span<const std::byte> rest = m_file.bytes().subspan(parsed.size);
  m_count = element_count(m_path, m_header.shape);
  const auto size = static_cast<std::size_t>(m_count) * info(m_header.dtype).size;
  if (rest.size() < size) {
    refuse(m_path, std::to_string(rest.size()) + " bytes of data",
           std::to_string(size) + " for shape " + to_string(m_header.shape) + " of " +
               std::string(info(m_header.dtype).name));
  }
  m_data = rest.first(size);
}

}  // namespace scan_tool
