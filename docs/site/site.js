/* A page that is opened from a disk may start no worker, and the search is one: here its script runs in a frame of the page. */
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      frame.title = "search"
      document.body.append(frame)
      const inside = frame.contentWindow
      inside.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }))
      this.ready = new Promise(done => {
        const script = frame.contentDocument.createElement("script")
        script.src = new URL(url, location.href)
        script.onload = () => done(inside)
        frame.contentDocument.body.append(script)
      })
    }
    postMessage(data) {
      this.ready.then(inside => inside.dispatchEvent(new inside.MessageEvent("message", { data })))
    }
    terminate() {}
  }
}

/* Names and focus for readers without a mouse. */
document.addEventListener("DOMContentLoaded", () => {
  document.querySelector(".md-search")?.setAttribute("aria-label", "Search")
  setTimeout(() => document.querySelectorAll(".md-typeset__scrollwrap").forEach(table => table.tabIndex = 0), 100)
})
