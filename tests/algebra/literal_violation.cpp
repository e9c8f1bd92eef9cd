// Must not compile: 5:3 is not composable with (6,2):(8,2). A test runs the compiler and looks for the call in its notes.
#include <inlay/algebra/literal.h>

using namespace inlay;
using namespace boost::hana::literals;

constexpr Layout a = literal::layout(boost::hana::make_tuple(6_c, 2_c), boost::hana::make_tuple(8_c, 2_c));
#ifdef INLAY_VIOLATION
constexpr Layout r = literal::composition(a, literal::layout(5_c, 3_c));
#else
constexpr Layout r = literal::composition(a, literal::layout(3_c, 2_c));
#endif
static_assert(r.size() > 0);
