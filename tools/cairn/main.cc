// `cairn`: the operator's command.
#include "engine/platform/platform.h"
#include "tools/cairn/command.h"

int main(int argc, char** argv) {
  cairn::platform::ignore_sigpipe();
  return cairn::cli::run_command_line(argc, argv);
}
