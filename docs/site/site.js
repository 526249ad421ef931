// What is wider than its place scrolls: then the keyboard has to get there, too.
function reachable() {
  for (const each of document.querySelectorAll(".md-typeset pre > code, .md-typeset__scrollwrap")) {
    if (each.scrollWidth > each.clientWidth) each.tabIndex = 0;
  }
}
window.addEventListener("load", reachable);
window.addEventListener("resize", reachable);

// The button for "On this page" on narrow screens says what it is, and its list closes when somebody has chosen.
window.addEventListener("load", () => {
  const open = document.getElementById("__toc");
  for (const each of document.querySelectorAll(".md-sidebar-button")) each.title = "On this page";
  for (const each of document.querySelectorAll(".md-sidebar--secondary a")) {
    each.addEventListener("click", () => (open.checked = false));
  }
});
