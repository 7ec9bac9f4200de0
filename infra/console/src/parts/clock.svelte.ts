/** The time of day, which moves on once a second: one timer for the whole page. */

class Ticks {
  now = $state(Date.now());

  constructor() {
    setInterval(() => {
      if (document.visibilityState === 'visible') this.now = Date.now();
    }, 1_000);
  }
}

export const ticks = new Ticks();
