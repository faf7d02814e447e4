// What the theme leaves without a name or out of reach of the keyboard.
document.addEventListener("DOMContentLoaded", () => {
  for (const toggle of document.querySelectorAll("summary .toctree-toggle")) {
    const page = toggle.closest("li")?.querySelector("a")?.textContent.trim();
    toggle.closest("summary").setAttribute("aria-label", `Pages below ${page}`);
  }
  for (const part of document.querySelectorAll(".sig > dl, .sig > dl > dd")) {
    part.setAttribute("role", "presentation"); // parameters on lines of their own
  }
  const reach = () => {
    for (const part of document.querySelectorAll(".bd-article table, .bd-article pre")) {
      if (part.scrollWidth > part.clientWidth) part.tabIndex = 0;
    }
  };
  reach();
  addEventListener("resize", reach);
});
