// SPDX-License-Identifier: MIT
// Last of the scripts, so that all of them are there.
"use strict";

document.querySelector("noscript")?.remove();
page.kinds[page.data.kind](page.data);
page.ready = true;
