import { mount } from 'svelte';

import './styles/tokens.css';
import './styles/base.css';
import App from './App.svelte';

const target = document.getElementById('console');
if (target === null) throw new Error('index.html has no element for the console');
mount(App, { target });
