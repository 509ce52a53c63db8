/* Search without a server. A browser starts no worker from a file on disk, so there the search runs
   in a frame that nobody sees, which is spoken to as a worker is. */
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      this.waiting = [];
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.title = "search";
      document.body.append(frame);
      const inside = frame.contentWindow;
      const load = (script) =>
        new Promise((loaded, failed) => {
          const element = inside.document.createElement("script");
          element.src = script;
          element.onload = loaded;
          element.onerror = () => failed(new Error(`${script} cannot be read.`));
          inside.document.body.append(element);
        });
      inside.importScripts = (...scripts) => Promise.all(scripts.map(load));
      inside.postMessage = (data) => {
        const message = new MessageEvent("message", { data });
        this.dispatchEvent(message);
        this.onmessage?.(message);
      };
      load(String(address)).then(() => {
        this.inside = inside;
        this.waiting.splice(0).forEach((data) => this.postMessage(data));
      });
    }
    postMessage(data) {
      if (!this.inside) this.waiting.push(data);
      else this.inside.dispatchEvent(new this.inside.MessageEvent("message", { data }));
    }
    terminate() {}
  };
}
