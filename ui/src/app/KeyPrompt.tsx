/** Asks for the server's key. */

import { useState } from "react";
import { authorization, giveKey } from "../api/key";

export function KeyPrompt() {
  const [key, setKey] = useState("");
  const wrong = "Authorization" in authorization();
  return (
    <form
      className="key-prompt"
      onSubmit={(event) => {
        event.preventDefault();
        giveKey(key.trim());
        window.location.reload();
      }}
    >
      <p>
        {wrong ? "The key that was given is not this server's." : "This server has a key."} It was printed, or set as
        SONDE_API_KEY, when the server was started.
      </p>
      <label>
        Key <input type="password" autoComplete="off" value={key} onChange={(event) => setKey(event.target.value)} />
      </label>
      <button type="submit" className="primary" disabled={key.trim() === ""}>
        Use it in this tab
      </button>
    </form>
  );
}
