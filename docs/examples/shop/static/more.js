// "More" leads to the next page. With this script its products are added to those that are here.
document.addEventListener("click", async (event) => {
  const link = event.target.closest("a[rel=next]");
  if (!link) return;
  event.preventDefault();
  const answer = await fetch(link.href);
  if (!answer.ok) return location.assign(link.href);
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  document.querySelector("#products").append(...page.querySelectorAll("#products > li"));
  link.replaceWith(...page.querySelectorAll("a[rel=next]"));
});
