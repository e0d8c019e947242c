// SPDX-License-Identifier: MIT
// The text of pictures.
#include <array>
#include <catch2/catch.hpp>

#include "report/plot/svg.h"

using namespace orrery;
using namespace orrery::report;

TEST_CASE("text in XML is escaped") {
  CHECK(xml_text("16 x H100, 2 nodes") == "16 x H100, 2 nodes");
  CHECK(xml_text("<b> & \"c\" 'd'") == "&lt;b&gt; &amp; &quot;c&quot; &apos;d&apos;");
  CHECK(xml_text("&amp;") == "&amp;amp;");
  CHECK(xml_text("]]>") == "]]&gt;");
  CHECK(xml_text("Z\xC3\xBCrich") == "Z\xC3\xBCrich");
}

TEST_CASE("what XML has no place for is written out") {
  CHECK(xml_text("a\x01"
                 "b\nc") == "a\\x01b\\x0Ac");
  CHECK(xml_text("\xFF") == "\\xFF");
  CHECK(xml_text("\xED\xA0\x80").find('\xED') == std::string::npos);  // half of a surrogate pair
  CHECK(xml_text("a\xEF\xBF\xBE"
                 "b\xEF\xBF\xBF") == "aU+FFFEbU+FFFF");
  CHECK(xml_text(std::string(5000, 'x')).size() == 5000);
}

TEST_CASE("a picture is its elements in order, in hundredths of a pixel") {
  Svg svg({10, 20}, "a & b", ".c { fill: #fff }\n");
  svg.rectangle({1, 2}, {4, 6}, "c");
  svg.line({-0.001, 0.125}, {1.0 / 3, 2}, "c");
  const std::array spots = {Spot{1, 2}, Spot{3, 4}};
  svg.line(spots, "c");
  svg.dot({1, 2}, 3, "c");
  svg.text({1, 2}, "x < y", "c");
  CHECK(svg.file() ==
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"10.00\" height=\"20.00\" viewBox=\"0 0 10.00 20.00\">\n"
        "<title>a &amp; b</title>\n"
        "<style>\n.c { fill: #fff }\n</style>\n"
        "<rect class=\"c\" x=\"1.00\" y=\"2.00\" width=\"3.00\" height=\"4.00\"/>\n"
        "<line class=\"c\" x1=\"0.00\" y1=\"0.12\" x2=\"0.33\" y2=\"2.00\"/>\n"
        "<polyline class=\"c\" points=\"1.00,2.00 3.00,4.00\"/>\n"
        "<circle class=\"c\" cx=\"1.00\" cy=\"2.00\" r=\"3.00\"/>\n"
        "<text class=\"c\" x=\"1.00\" y=\"2.00\">x &lt; y</text>\n"
        "</svg>\n");
}
