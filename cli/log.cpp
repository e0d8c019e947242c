#include "cli/log.h"

#include <memory>

#include <spdlog/formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "core/error.h"

namespace orrery::cli {
namespace {

// The message alone, safe for a terminal.
class PlainFormatter final : public spdlog::formatter {
 public:
  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& text) override {
    const std::string safe = printable_lines({message.payload.data(), message.payload.size()}) + "\n";
    text.append(safe.data(), safe.data() + safe.size());
  }
  std::unique_ptr<spdlog::formatter> clone() const override { return std::make_unique<PlainFormatter>(); }
};

}  // namespace

void start_log(bool verbose) {
  auto logger = std::make_shared<spdlog::logger>(
      "orrery", std::make_shared<spdlog::sinks::stderr_sink_st>());  // spdlog owns by shared_ptr
  logger->set_formatter(std::make_unique<PlainFormatter>());
  logger->set_level(verbose ? spdlog::level::info : spdlog::level::warn);
  spdlog::set_default_logger(std::move(logger));
}

}  // namespace orrery::cli
