#include "cli/log.h"

#include <memory>

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

namespace orrery::cli {

void start_log(bool verbose) {
  auto logger = std::make_shared<spdlog::logger>(
      "orrery", std::make_shared<spdlog::sinks::stderr_sink_st>());  // spdlog owns by shared_ptr
  logger->set_pattern("%v");
  logger->set_level(verbose ? spdlog::level::info : spdlog::level::warn);
  spdlog::set_default_logger(std::move(logger));
}

}  // namespace orrery::cli
