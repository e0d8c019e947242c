// SPDX-License-Identifier: MIT
// Pictures that the program drew (report/plot/picture.h): in a width for a screen and in one for a phone, with their
// values as a file.
"use strict";

// The text of an SVG as elements. What is in it was escaped when it was written.
function drawnElement(text, className) {
  const svg = document.importNode(new DOMParser().parseFromString(text, "image/svg+xml").documentElement, true);
  svg.classList.add(className);
  return svg;
}

// Makes a file of it: colours of the page become those of paper.
const onPaper = (text) => text.replace(/var\(--[a-z0-9]+, (#[0-9a-f]+)\)/g, "$1");

function drawnPicture(parent, drawn) {
  if (!page.pictureStyle) {
    page.pictureStyle = document.createElement("style");
    page.pictureStyle.textContent =
        ".plot.narrow { display: none } @media (max-width: 720px) { .plot.wide { display: none } .plot.narrow { display: block } }";
    document.head.append(page.pictureStyle);
  }
  for (const caption of drawn.captions) add(parent, "p", caption);
  const frame = add(parent, "div", undefined, "figure");
  d3.select(frame).attr({role: "figure", "aria-label": drawn.about});
  const wide = drawnElement(drawn.wide, "wide"), narrow = drawnElement(drawn.narrow, "narrow");
  d3.select(wide).attr({role: "img", "aria-label": drawn.about});
  d3.select(narrow).attr("role", "presentation");
  frame.append(wide, narrow);
  const tools = add(parent, "div", undefined, "save");
  const button = (text, what, type, ending, content) => {
    const element = add(tools, "button", text);
    element.setAttribute("aria-label", `Save ${what}: ${drawn.about}`);
    element.title = `Save ${what}`;
    element.addEventListener("click", () => saveFile(fileName(`${drawn.title} ${drawn.heading}`, ending), type, content()));
  };
  button("SVG", "the picture as SVG", "image/svg+xml", "svg", () => onPaper(drawn.wide));
  button("data", "its numbers as CSV", "text/csv", "csv", () => drawn.data);
}
