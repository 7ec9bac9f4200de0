/** Colours of the page: those of the system, or the ones that were chosen. */

export const THEMES = ['system', 'light', 'dark'] as const;
export type Theme = (typeof THEMES)[number];

const KEY = 'millrace.theme';
const system = matchMedia('(prefers-color-scheme: dark)');

class Colours {
  theme = $state<Theme>(stored());
  #systemIsDark = $state(system.matches);
  readonly dark = $derived(this.theme === 'system' ? this.#systemIsDark : this.theme === 'dark');

  constructor() {
    system.addEventListener('change', () => (this.#systemIsDark = system.matches));
    this.choose(this.theme);
  }

  choose(theme: Theme): void {
    this.theme = theme;
    localStorage.setItem(KEY, theme);
    document.documentElement.dataset['theme'] = theme;
  }
}

function stored(): Theme {
  const value = localStorage.getItem(KEY);
  return THEMES.find((theme) => theme === value) ?? 'system';
}

export const colours = new Colours();
