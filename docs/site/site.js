// What is wider than its place scrolls: then the keyboard has to get there, too.
function reachable() {
  for (const each of document.querySelectorAll(".md-typeset pre > code, .md-typeset__scrollwrap")) {
    if (each.scrollWidth > each.clientWidth) each.tabIndex = 0;
  }
}
window.addEventListener("load", reachable);
window.addEventListener("resize", reachable);
