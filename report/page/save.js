// SPDX-License-Identifier: MIT
// Files that a page makes of what it shows: pictures that need nothing of the page, and their numbers. Nothing is
// loaded for that; a link to the bytes themselves is what saves them.
"use strict";

const SAVED_STYLES = [
  "fill", "fill-opacity", "stroke", "stroke-opacity", "stroke-width", "stroke-dasharray", "opacity", "font-family",
  "font-size", "font-weight", "text-anchor", "shape-rendering", "paint-order"
];

// A file name of what is written above a picture.
const fileName = (about, ending) =>
    `${about.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "").slice(0, 60) || "picture"}.${ending}`;

function saveFile(name, type, text) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], {type}));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

// Comma-separated values, quoted as RFC 4180 has it.
function csvText({heads, rows}) {
  const cell = (value) => {
    const text = String(value ?? "");
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [heads, ...rows].map((row) => row.map(cell).join(",") + "\n").join("");
}

// Buttons behind a picture: `picture` gives its svg element, `data` its numbers as {heads, rows}.
function saveButtons(parent, about, picture, data) {
  const tools = add(parent, "div", undefined, "save");
  const button = (text, what, action) => {
    const element = add(tools, "button", text);
    element.setAttribute("aria-label", `Save ${what}: ${about}`);
    element.title = `Save ${what}`;
    element.addEventListener("click", action);
  };
  if (picture)
    button("SVG", "the picture as SVG", () => {
      const svg = picture(), shown = svg.hasAttribute("role");  // others were made to be saved
      saveFile(fileName(about, "svg"), "image/svg+xml", standalone(svg, about, legendOf(svg)));
      if (!shown) svg.remove();
    });
  if (data)
    button("data", "its numbers as CSV", () => saveFile(fileName(about, "csv"), "text/csv", csvText(data())));
}

// The legend that stands above a picture.
function legendOf(svg) {
  const frame = svg.closest(".figure");
  const before = frame?.previousElementSibling;
  if (before?.matches(".legend")) return before;
  return frame ? null : svg.parentElement.querySelector(":scope > .legend");
}

// Writes the styles that hold for an element, and for all in it, into their copies.
function inlineStyles(from, to) {
  const style = getComputedStyle(from);
  to.removeAttribute("class");
  to.removeAttribute("style");
  for (const name of SAVED_STYLES) {
    const value = style.getPropertyValue(name);
    if (value && from.tagName !== "title") to.setAttribute(name, value.replace(/url\("(#\w+)"\)/, "url($1)"));
  }
  [...from.children].forEach((child, i) => inlineStyles(child, to.children[i]));
}

function styledCopy(element) {
  const copy = element.cloneNode(true);
  inlineStyles(element, copy);
  return copy;
}

// The text of an SVG file: title, legend and picture, with their styles and patterns in it.
function standalone(svg, about, legendFrame) {
  const {width, height} = svg.viewBox.baseVal, pad = 12, titleHigh = 26;
  const whole = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const box = legendFrame?.getBoundingClientRect(), legendHigh = box ? box.height + 8 : 0;
  const all = {width: Math.max(width, box?.width ?? 0) + 2 * pad, height: height + titleHigh + legendHigh + 2 * pad};
  const into = d3.select(whole).attr({
    xmlns: "http://www.w3.org/2000/svg", width: all.width, height: all.height, viewBox: `0 0 ${all.width} ${all.height}`
  });
  const style = getComputedStyle(document.body);
  into.attr({"font-family": style.fontFamily.replaceAll('"', "'"), "font-size": 12});
  into.append("title").text(`${document.title}: ${about}`);
  if (page.defs) whole.append(styledCopy(page.defs.node()));
  into.append("rect").attr({width: all.width, height: all.height, fill: themed("paper")});
  into.append("text").attr({x: pad, y: pad + 12, "font-weight": 600, fill: themed("ink")}).text(about);
  for (const item of legendFrame?.children ?? []) {
    const at = item.getBoundingClientRect(), swatch = item.querySelector("svg");
    const copy = styledCopy(swatch), sign = swatch.getBoundingClientRect();
    d3.select(copy).attr({x: pad + sign.left - box.left, y: pad + titleHigh + sign.top - box.top});
    whole.append(copy);
    const middle = at.top - box.top + at.height / 2;
    into.append("text")
        .attr({x: pad + sign.right - box.left + 6, y: pad + titleHigh + middle + 4, fill: themed("ink")})
        .text(item.textContent);
  }
  const copy = styledCopy(svg);
  d3.select(copy).attr({x: pad, y: pad + titleHigh + legendHigh, width, height});
  whole.append(copy);
  return new XMLSerializer().serializeToString(whole);
}
