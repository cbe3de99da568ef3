//! Starting and stopping the real binary.

use std::process::Command;

use prom_testkit::{HubProcess, prom_binary};

fn refused(arguments: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(prom_binary().unwrap()).arg("serve").args(arguments).output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn a_hub_asked_to_end_does_so_with_status_0_and_keeps_its_data() {
    let data = tempfile::tempdir().unwrap();
    let mut hub = HubProcess::on(data.path()).unwrap();
    let publish = |hub: &HubProcess| {
        let output = Command::new(prom_binary().unwrap())
            .args(["pub", "a.b", "{\"n\":1}", "--json", "--url", &hub.url()])
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let receipt: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        receipt["offset"].as_u64().unwrap()
    };
    assert_eq!(publish(&hub), 0);
    assert_eq!(hub.stop().unwrap().code(), Some(0));
    hub.restart().unwrap();
    assert_eq!(publish(&hub), 1);
}

#[test]
fn a_second_hub_on_the_same_directory_or_port_is_refused_with_the_reason() {
    let data = tempfile::tempdir().unwrap();
    let hub = HubProcess::on(data.path()).unwrap();
    let (_, said) = refused(&["--listen", "127.0.0.1:0", "--data", &data.path().to_string_lossy()]);
    assert!(said.contains(&data.path().to_string_lossy().into_owned()), "{said}");
    let (status, said) = refused(&["--store", "memory", "--listen", &hub.address().to_string()]);
    assert!(status.is_some_and(|status| status != 0) && said.contains(&hub.address().to_string()), "{said}");
}

#[test]
fn without_auth_the_hub_listens_on_loopback_only() {
    let (status, said) = refused(&["--store", "memory", "--listen", "0.0.0.0:0"]);
    assert_eq!(status, Some(2), "{said}");
    assert!(said.contains("auth"), "{said}");
}
