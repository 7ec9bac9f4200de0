//! Tests download links, which need no credentials: links that are changed to point at the victim's file.

use tests::Method;

use super::callers::Caller;
use super::world::World;

/// Valid links: the victim's, and one of each caller that changes it.
pub struct Links {
    victims: String,
    own: Vec<(char, String)>,
}

impl World {
    /// Returns a link to the current version of each household's store.
    pub async fn links(&self) -> Links {
        let mut own = Vec::new();
        for letter in ['P', 'A'] {
            own.push((letter, self.link_of(self.caller(letter)).await));
        }
        Links {
            victims: self.link_of(&self.owner()).await,
            own,
        }
    }

    async fn link_of(&self, caller: &Caller) -> String {
        let path = format!("/data/{}/download", caller.household.value("store"));
        let answer = self.service.get(&caller.credentials, &path).await;
        let link = answer.expect_status(200).body["url"].as_str().unwrap().to_owned();
        self.service.request(Method::GET, &link).await.expect_status(200);
        link
    }

    /// Requests changed links. Returns each with its faults.
    pub async fn judge_links(&self, links: &Links) -> Vec<(String, Vec<String>)> {
        let (victims_path, _) = links.victims.split_once('?').unwrap();
        let mut judged = Vec::new();
        for (letter, link) in &links.own {
            let household = &self.caller(*letter).household;
            let (path, query) = link.split_once('?').unwrap();
            let mine = |name: &str| household.value(name);
            let theirs = |name: &str| self.victim.value(name);
            let own = format!("/{}/{}/", mine("account"), mine("project"));
            let victims = format!("/{}/{}/", theirs("account"), theirs("project"));
            let up = format!(
                "{own}..%2F..%2F..%2F{}%2F{}%2F",
                theirs("account"),
                theirs("project")
            );
            let (bucket, _) = path.rsplit_once("/stores/").unwrap();
            let mut all = vec![
                ("to another store", link.replace(&mine("store"), &theirs("store"))),
                ("to another tenant", link.replace(&own, &victims)),
                ("to another path", format!("{victims_path}?{query}")),
                ("that climbs", format!("{}?{query}", path.replace(&own, &up))),
                ("to the whole bucket", format!("{bucket}?{query}&list-type=2")),
            ];
            // An emulator without IAM serves unsigned requests.
            if !self.service.is_shared() {
                all.push(("without its signature", victims_path.to_owned()));
            }
            for (what, changed) in all {
                assert_ne!(&changed, link);
                let answer = self.service.request(Method::GET, &changed).await;
                let changed = changed.to_lowercase();
                let secrets = self.secrets.iter().filter(|secret| changed.contains(*secret));
                let mut faults = self.leaks(&answer, secrets);
                if !(400..500).contains(&answer.status) {
                    faults.push(format!("it must be refused: {} {}", answer.status, answer.text()));
                }
                judged.push((format!("{letter} a link {what}"), faults));
            }
        }
        judged
    }
}
