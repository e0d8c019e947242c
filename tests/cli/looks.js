// SPDX-License-Identifier: MIT
// Checks what a page looks like, asked in the browser by screenshots_test.py: each function gives a list of complaints.
"use strict";

const looks = {
  shownText: (element) => [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim()) &&
      element.checkVisibility() && !element.closest("noscript, script, title, [hidden]"),
  name: (element) => `${element.tagName.toLowerCase()} "${element.textContent.trim().slice(0, 40)}"`,

  // Nothing makes the page wider than the window, and nothing sticks out of it but what scrolls.
  width() {
    const wide = document.documentElement.scrollWidth;
    const found = wide > innerWidth ? [`the page is ${wide} pixels wide`] : [];
    for (const element of document.querySelectorAll("main *")) {
      const box = element.getBoundingClientRect();
      if (box.right > innerWidth + 1 && !element.closest(".scroll, pre, .timeline"))
        found.push(`${looks.name(element)} reaches to ${Math.round(box.right)}`);
    }
    return found;
  },

  // Texts of a picture stand apart, and within it.
  texts() {
    const found = [];
    for (const svg of document.querySelectorAll("main svg[role=img]")) {
      const frame = svg.getBoundingClientRect();
      const boxes = [...svg.querySelectorAll("text")].filter((text) => text.textContent.trim() && text.checkVisibility())
                        .map((text) => [text, text.getBoundingClientRect()]);
      boxes.forEach(([text, a], i) => {
        if (a.left < frame.left - 1 || a.right > frame.right + 1 || a.bottom > frame.bottom + 1)
          found.push(`${looks.name(text)} is cut`);
        for (const [other, b] of boxes.slice(i + 1))
          if (Math.min(a.right, b.right) - Math.max(a.left, b.left) > 2 &&
              Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 4)
            found.push(`${looks.name(text)} and ${looks.name(other)} overlap`);
      });
    }
    return found;
  },

  // Checks that all rows of a table can be seen, those shown at first are whole, and one that scrolls says so.
  tables() {
    const found = [];
    for (const frame of document.querySelectorAll(".scroll")) {
      if (!frame.checkVisibility() || !frame.clientWidth) continue;
      const rows = [...frame.querySelectorAll("tbody tr")], what = frame.getAttribute("aria-label");
      const seen = () => rows.filter((row) => row.getClientRects().length).length;
      const under = frame.nextElementSibling, more = under.querySelector("button[aria-expanded]");
      if (frame.tabIndex !== 0 || frame.getAttribute("role") !== "region") found.push(`${what}: keys do not reach it`);
      if ((frame.scrollWidth > frame.clientWidth + 1) === under.querySelector(".hint").hidden) found.push(`${what}: its hint`);
      if (frame.scrollHeight > frame.clientHeight + 1 && frame.classList.contains("short")) found.push(`${what}: a row is cut`);
      if (!more) {
        if (seen() !== rows.length) found.push(`${what}: ${seen()} of ${rows.length} rows are seen`);
        continue;
      }
      const few = seen();
      more.click();
      if (seen() !== rows.length || few >= rows.length || !more.textContent.includes(few))
        found.push(`${what}: of ${rows.length} rows ${few}, then ${seen()} are seen`);
      more.click();
    }
    return found;
  },

  parse(colour) {
    const numbers = colour.match(/[\d.]+/g)?.map(Number);
    return numbers && numbers.length >= 3 ? [...numbers.slice(0, 3), numbers[3] ?? 1] : null;
  },

  // Colour of a shape or of a box, with its opacity; none if it has none.
  paint(element) {
    const style = getComputedStyle(element);
    if (!(element instanceof SVGElement)) return looks.parse(style.backgroundColor);
    if (!/^(rect|path|circle)$/.test(element.tagName) || style.fill === "none") return null;
    const pattern = /url\("#(\w+)"\)/.exec(style.fill);
    const colour = looks.parse(pattern ? getComputedStyle(document.querySelector(`#${pattern[1]} rect`)).fill : style.fill);
    return colour && [...colour.slice(0, 3), colour[3] * style.fillOpacity * style.opacity];
  },

  ratio(a, b) {
    const light = (colour) => {
      const [red, green, blue] = colour.map((part) => part / 255).map(
          (part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
      return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
    };
    const [low, high] = [light(a), light(b)].sort((one, other) => one - other);
    return (high + 0.05) / (low + 0.05);
  },

  // Texts can be read: their colour against what is under them, as WCAG 2 has it for small text.
  contrast(least = 4.5) {
    const found = [];
    for (const element of document.querySelectorAll("main *")) {
      if (!looks.shownText(element)) continue;
      const range = document.createRange();
      range.selectNodeContents(element);
      const box = range.getBoundingClientRect(), style = getComputedStyle(element);
      const all = document.elementsFromPoint(box.left + Math.min(box.width / 2, 8), box.top + box.height / 2);
      const from = all.indexOf(element);
      if (from < 0) continue;  // scrolled out of sight
      const under = [...all.slice(from)].reverse().map(looks.paint).filter(Boolean);
      const halo = style.paintOrder.startsWith("stroke") && looks.parse(style.stroke);  // around letters
      const paper = halo || under.reduce((below, [red, green, blue, share]) =>
          [red, green, blue].map((part, i) => share * part + (1 - share) * below[i]), [255, 255, 255]);
      const ink = looks.parse(element instanceof SVGElement ? style.fill : style.color);
      const ratio = looks.ratio(ink.slice(0, 3), paper.slice(0, 3));
      if (ratio < least) found.push(`${looks.name(element)}: contrast of ${ratio.toFixed(2)}`);
    }
    return found;
  },

  // Parts of the page, each by its place, so that what moves one does not count for those below; and how many rows and
  // shapes each has.
  parts() {
    return [...document.querySelectorAll("main > :not(section):not(svg), main > section > *")].map((element) => {
      const box = element.getBoundingClientRect();
      return {
        name: looks.name(element), top: Math.round(box.top + scrollY), height: Math.round(box.height),
        isDrawn: element.matches(".figure, .timeline"),
        holds: element.querySelectorAll("tr, canvas, svg[role=img] :is(rect, path, circle, line, text)").length
      };
    }).filter((part) => part.height > 0);
  }
};

// Pictures compared by means of blocks: those of the parts of a page, one below the other, are the reference.
const BLOCK = 8;  // pixels of the page that are one of the reference
const STEP = 8;   // between the 33 levels of a colour there

async function bitmapOf(url) { return createImageBitmap(await (await fetch(url)).blob()); }

const blocks = (pixels) => Math.max(1, Math.round(pixels / BLOCK));

// A canvas with the parts of a screenshot, of the heights given in blocks.
async function reduced(url, parts, heights) {
  const picture = await bitmapOf(url);
  const canvas = new OffscreenCanvas(blocks(picture.width), heights.reduce((a, b) => a + b, 0));
  const pen = canvas.getContext("2d", {willReadFrequently: true});
  pen.imageSmoothingQuality = "high";
  let y = 0;
  parts.forEach(({top, height}, i) => {
    pen.drawImage(picture, 0, top, picture.width, height, 0, y, canvas.width, heights[i]);
    y += heights[i];
  });
  return canvas;
}

async function referenceOf(url, parts) {
  const canvas = await reduced(url, parts, parts.map((part) => blocks(part.height))), pen = canvas.getContext("2d");
  const picture = pen.getImageData(0, 0, canvas.width, canvas.height);
  for (let i = 0; i < picture.data.length; ++i) picture.data[i] = Math.min(255, STEP * Math.round(picture.data[i] / STEP));
  pen.putImageData(picture, 0, 0);
  const bytes = new Uint8Array(await (await canvas.convertToBlob({type: "image/webp", quality: 1})).arrayBuffer());  // no loss
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text);
}

// The most that any square of `side` blocks differs by, of 255, for each part.
async function differences(url, parts, reference, heights, side = 4) {
  const canvas = await reduced(url, parts, heights), old = await bitmapOf(reference);
  if (old.width !== canvas.width || old.height !== canvas.height) return null;
  const now = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
  const second = new OffscreenCanvas(old.width, old.height).getContext("2d");
  second.drawImage(old, 0, 0);
  const then = second.getImageData(0, 0, old.width, old.height).data;
  let from = 0;
  return heights.map((height) => {
    let most = 0;
    for (let y = from; y < from + height; y += side)
      for (let x = 0; x < old.width; x += side) {
        const sums = [0, 0, 0];
        let count = 0;
        for (let row = y; row < Math.min(y + side, from + height); ++row)
          for (let column = x; column < Math.min(x + side, old.width); ++column, ++count)
            for (let i = 0, at = 4 * (row * old.width + column); i < 3; ++i) sums[i] += now[at + i] - then[at + i];
        most = Math.max(most, ...sums.map((sum) => Math.abs(sum) / count));
      }
    from += height;
    return most;
  });
}
