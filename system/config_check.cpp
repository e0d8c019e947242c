#include "system/config_check.h"
namespace orrery {
}
